//! One client, which can be slow, silent or hostile.

use std::io::{self, BufRead, Chain, Cursor, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::net::TcpStream;

use super::request::{MAX_REQUEST_BYTES, Request, parse};

/// A client without a complete response by then is disconnected.
pub const MAX_TIME: Duration = Duration::from_secs(10);

const ROOT: &[u8] = b"<!doctype html><title>taut exporter</title>\
                      <a href=\"/metrics\">metrics</a>\n";

/// A client, from its first byte to the last of its response.
#[derive(Debug)]
pub struct Connection {
    pub stream: TcpStream,
    pub since: Instant,
    request: Vec<u8>,
    response: Option<Response>,
}

/// What is left to write of a head and a body.
type Response = Chain<Cursor<Vec<u8>>, Cursor<Arc<[u8]>>>;

/// Whether a connection stays open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Open,
    Done,
}

impl Connection {
    pub fn new(stream: TcpStream, since: Instant) -> Self {
        Self {
            stream,
            since,
            request: Vec::new(),
            response: None,
        }
    }

    /// Returns `true` while its request is incomplete.
    pub fn is_silent(&self) -> bool {
        self.response.is_none()
    }

    /// Reads and writes as far as possible without blocking.
    pub fn advance(&mut self, page: &mut impl FnMut() -> Arc<[u8]>) -> State {
        let advanced = match self.response {
            None => self.read(page),
            Some(_) => Ok(()),
        };
        match advanced.and_then(|()| self.write()) {
            Ok(state) => state,
            Err(error) if error.kind() == ErrorKind::WouldBlock => State::Open,
            // The client closed the connection.
            Err(_) => State::Done,
        }
    }

    fn read(&mut self, page: &mut impl FnMut() -> Arc<[u8]>) -> io::Result<()> {
        let mut buffer = [0; 1024];
        while self.response.is_none() {
            let max = buffer.len().min(MAX_REQUEST_BYTES - self.request.len());
            match self.stream.read(&mut buffer[..max]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => self.request.extend_from_slice(&buffer[..bytes]),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            self.response = match parse(&self.request) {
                Request::Partial => None,
                Request::Metrics { head_only } => {
                    let kind = "text/plain; version=0.0.4; charset=utf-8";
                    Some(response("200 OK", kind, page(), head_only))
                }
                Request::Root { head_only } => {
                    let kind = "text/html; charset=utf-8";
                    Some(response("200 OK", kind, Arc::from(ROOT), head_only))
                }
                Request::Rejected(status) => {
                    let body = Arc::from(format!("{status}\n").as_bytes());
                    Some(response(status, "text/plain", body, false))
                }
            };
        }
        self.request = Vec::new();
        Ok(())
    }

    fn write(&mut self) -> io::Result<State> {
        let Some(response) = &mut self.response else {
            return Ok(State::Open);
        };
        loop {
            let rest = response.fill_buf()?;
            if rest.is_empty() {
                // Unread bytes of the client would make the kernel reset the connection and discard
                // the response.
                let mut rest = [0; 1024];
                while matches!(self.stream.read(&mut rest), Ok(1..)) {}
                let _ = self.stream.shutdown(std::net::Shutdown::Write);
                return Ok(State::Done);
            }
            match self.stream.write(rest) {
                Ok(bytes) => response.consume(bytes),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn response(status: &str, kind: &str, body: Arc<[u8]>, head_only: bool) -> Response {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    let body = if head_only { Arc::from([]) } else { body };
    Cursor::new(head.into_bytes()).chain(Cursor::new(body))
}

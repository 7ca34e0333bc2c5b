//! One client, which can be slow, silent or hostile.

use std::io::{self, BufRead, Chain, Cursor, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::net::TcpStream;

use super::request::{MAX_REQUEST_BYTES, Page, parse};

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

    /// Reads and writes as far as possible without blocking. Returns `true` if nothing is left to
    /// do: the response is written, or the client closed the connection.
    pub fn advance(&mut self, page: &mut impl FnMut() -> Arc<[u8]>) -> bool {
        let done = self.respond(page);
        !done.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    fn respond(&mut self, page: &mut impl FnMut() -> Arc<[u8]>) -> io::Result<()> {
        let response = match &mut self.response {
            Some(response) => response,
            None => {
                let response = self.read(page)?;
                self.response.insert(response)
            }
        };
        loop {
            let rest = response.fill_buf()?;
            if rest.is_empty() {
                // Unread bytes of the client would make the kernel reset the connection and discard
                // the response.
                let mut rest = [0; 1024];
                while matches!(self.stream.read(&mut rest), Ok(1..)) {}
                let _ = self.stream.shutdown(std::net::Shutdown::Write);
                return Ok(());
            }
            match self.stream.write(rest) {
                Ok(bytes) => response.consume(bytes),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads the request, and returns the response to it.
    fn read(&mut self, page: &mut impl FnMut() -> Arc<[u8]>) -> io::Result<Response> {
        let mut buffer = [0; 1024];
        loop {
            let max = buffer.len().min(MAX_REQUEST_BYTES - self.request.len());
            match self.stream.read(&mut buffer[..max]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => self.request.extend_from_slice(&buffer[..bytes]),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            let Some(request) = parse(&self.request) else {
                continue;
            };
            let (status, kind, body) = match request.map(|it| it.page) {
                Ok(Page::Metrics) => {
                    let kind = "text/plain; version=0.0.4; charset=utf-8";
                    ("200 OK", kind, page())
                }
                Ok(Page::Root) => ("200 OK", "text/html; charset=utf-8", Arc::from(ROOT)),
                Err(status) => {
                    let body = format!("{status}\n").into_bytes();
                    (status, "text/plain", Arc::from(body))
                }
            };
            let head_only = request.is_ok_and(|it| it.head_only);
            self.request = Vec::new();
            return Ok(response(status, kind, body, head_only));
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

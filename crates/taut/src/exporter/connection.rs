//! One client, who may be slow, silent or hostile.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::net::TcpStream;

use super::request::{MOST_BYTES, Request, parse};

/// Who has not had an answer by then has none.
pub const MOST_TIME: Duration = Duration::from_secs(10);

/// A client, from its first byte to the last of its answer.
pub struct Connection {
    pub stream: TcpStream,
    pub since: Instant,
    asked: Vec<u8>,
    answer: Option<Answer>,
}

struct Answer {
    head: Vec<u8>,
    body: Arc<[u8]>,
    written: usize,
}

/// Whether a client is still of interest.
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
            asked: Vec::new(),
            answer: None,
        }
    }

    /// Whether it has not even said what it wants.
    pub fn is_silent(&self) -> bool {
        self.answer.is_none()
    }

    /// Does what can be done without waiting.
    pub fn advance(&mut self, page: &mut impl FnMut() -> Arc<[u8]>) -> State {
        let advanced = match self.answer {
            None => self.read(page),
            Some(_) => Ok(()),
        };
        match advanced.and_then(|()| self.write()) {
            Ok(state) => state,
            Err(error) if error.kind() == ErrorKind::WouldBlock => State::Open,
            // It left, or never was: nothing to tell anybody.
            Err(_) => State::Done,
        }
    }

    fn read(&mut self, page: &mut impl FnMut() -> Arc<[u8]>) -> io::Result<()> {
        let mut buffer = [0; 1024];
        while self.answer.is_none() {
            let most = buffer.len().min(MOST_BYTES - self.asked.len());
            match self.stream.read(&mut buffer[..most]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => self.asked.extend_from_slice(&buffer[..bytes]),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            self.answer = match parse(&self.asked) {
                Request::Partial => None,
                Request::Metrics { head_only } => {
                    let kind = "text/plain; version=0.0.4; charset=utf-8";
                    Some(Answer::new("200 OK", kind, page(), head_only))
                }
                Request::Root { head_only } => {
                    let text = "<!doctype html><title>taut exporter</title>\
                                <a href=\"/metrics\">metrics</a>\n";
                    let body = Arc::from(text.as_bytes());
                    Some(Answer::new(
                        "200 OK",
                        "text/html; charset=utf-8",
                        body,
                        head_only,
                    ))
                }
                Request::Refused(status) => {
                    let body = Arc::from(format!("{status}\n").as_bytes());
                    Some(Answer::new(status, "text/plain", body, false))
                }
            };
        }
        self.asked = Vec::new();
        Ok(())
    }

    fn write(&mut self) -> io::Result<State> {
        let Some(answer) = &mut self.answer else {
            return Ok(State::Open);
        };
        loop {
            let rest = match answer
                .head
                .get(answer.written..)
                .filter(|it| !it.is_empty())
            {
                Some(head) => head,
                None => &answer.body[answer.written - answer.head.len()..],
            };
            if rest.is_empty() {
                // What it has sent besides would make the kernel reset the connection, and take
                // our answer away with it.
                let mut rest = [0; 1024];
                while matches!(self.stream.read(&mut rest), Ok(1..)) {}
                let _ = self.stream.shutdown(std::net::Shutdown::Write);
                return Ok(State::Done);
            }
            match self.stream.write(rest) {
                Ok(bytes) => answer.written += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Answer {
    fn new(status: &str, kind: &str, body: Arc<[u8]>, head_only: bool) -> Self {
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            body.len()
        );
        Self {
            head: head.into_bytes(),
            body: if head_only { Arc::from([]) } else { body },
            written: 0,
        }
    }
}

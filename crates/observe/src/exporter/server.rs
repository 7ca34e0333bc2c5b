//! An HTTP server for a few clients, which slow clients cannot fill or block.
//!
//! Each client has a thread. A client that is one too many replaces the one that has been silent
//! the longest, and a client without a complete response in time is disconnected. To disconnect a
//! client, its socket is shut down, which ends the blocking call of its thread.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope, scope, sleep};
use std::time::{Duration, Instant};

use taut_linux::poll;
use taut_linux::sched::monotonic_ns;

use super::request::{MAX_REQUEST_BYTES, Request, parse};

const MAX_CLIENTS: usize = 128;
/// A page is served again until it reaches this age, so a flood of requests does not read the
/// queues more often.
const MAX_PAGE_AGE: Duration = Duration::from_millis(100);
/// A client without a complete response by then is disconnected.
const MAX_TIME: Duration = Duration::from_secs(10);
/// Maximum wait before interrupts and the times of clients are checked.
const MAX_WAIT_NS: u64 = 100_000_000;

const ROOT: &[u8] = b"<!doctype html><title>taut exporter</title>\
                      <a href=\"/metrics\">metrics</a>\n";

/// A listening socket and its clients.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    clients: Mutex<Vec<Arc<Client>>>,
    page: Mutex<Option<(Instant, Arc<[u8]>)>>,
}

#[derive(Debug)]
struct Client {
    stream: TcpStream,
    since: Instant,
    /// Its request is complete.
    has_asked: AtomicBool,
}

impl Server {
    /// Listens on `address`.
    ///
    /// # Errors
    /// If the socket cannot be created or bound.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        // A client that closed its connection again must not block the server.
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            clients: Mutex::default(),
            page: Mutex::default(),
        })
    }

    /// Returns the address, with the port that the kernel chose for port 0.
    ///
    /// # Errors
    /// If the kernel does not return it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves the page that `create` returns until `stop` returns `true`.
    ///
    /// # Errors
    /// If waiting for clients fails; errors of a client only close its connection.
    pub fn run(
        &self,
        create: impl Fn() -> String + Sync,
        stop: impl Fn() -> bool,
    ) -> io::Result<()> {
        let page = || self.page(&create);
        scope(|threads| {
            let mut ended = Ok(());
            while ended.is_ok() && !stop() {
                let deadline_ns = monotonic_ns() + MAX_WAIT_NS;
                let ready = poll::wait(&[self.listener.as_fd()], Some(deadline_ns));
                self.disconnect(|it| it.since.elapsed() > MAX_TIME);
                ended = ready.map(|ready| {
                    if ready.any() {
                        self.accept(threads, &page);
                    }
                });
            }
            // The scope waits for the threads.
            self.disconnect(|_| true);
            ended
        })
    }

    fn accept<'s>(&'s self, threads: &'s Scope<'s, '_>, page: &'s (impl Fn() -> Arc<[u8]> + Sync)) {
        let Ok((stream, _)) = self.listener.accept() else {
            // The client closed the connection, or no descriptor is free: the next call tries
            // again. The pause avoids spinning.
            sleep(Duration::from_millis(1));
            return;
        };
        let client = Arc::new(Client {
            stream,
            since: Instant::now(),
            has_asked: AtomicBool::new(false),
        });
        let mut clients = self.clients();
        if clients.len() >= MAX_CLIENTS {
            let order = |it: &Arc<Client>| (it.has_asked.load(Ordering::Relaxed), it.since);
            let first = (0..clients.len()).min_by_key(|&at| order(&clients[at]));
            clients.swap_remove(first.unwrap_or(0)).disconnect();
        }
        clients.push(Arc::clone(&client));
        drop(clients);
        let work = move || {
            // Only its own connection depends on a client's errors.
            let _ = client.respond(page);
            self.clients().retain(|it| !Arc::ptr_eq(it, &client));
        };
        // Without a thread, the client is disconnected after its time.
        let _ = Builder::new().spawn_scoped(threads, work);
    }

    // The list is consistent after every change, so a poisoned lock is harmless.
    fn clients(&self) -> MutexGuard<'_, Vec<Arc<Client>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn page(&self, create: impl Fn() -> String) -> Arc<[u8]> {
        // The page is replaced as a whole, so a poisoned lock is harmless.
        let mut last = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = last
            .take()
            .filter(|(since, _)| since.elapsed() < MAX_PAGE_AGE);
        let now = Instant::now();
        let page = recent.unwrap_or_else(|| (now, Arc::from(create().into_bytes())));
        Arc::clone(&last.insert(page).1)
    }

    fn disconnect(&self, selected: impl Fn(&Client) -> bool) {
        let mut clients = self.clients();
        clients
            .extract_if(.., |it| selected(it))
            .for_each(|it| it.disconnect());
    }
}

impl Client {
    fn disconnect(&self) {
        // The client can have closed the connection already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    fn respond(&self, page: impl Fn() -> Arc<[u8]>) -> io::Result<()> {
        let request = self.request()?;
        self.has_asked.store(true, Ordering::Relaxed);
        let (status, kind, body, head_only) = match request {
            Request::Metrics { head_only } => {
                let kind = "text/plain; version=0.0.4; charset=utf-8";
                ("200 OK", kind, page(), head_only)
            }
            Request::Root { head_only } => {
                let kind = "text/html; charset=utf-8";
                ("200 OK", kind, Arc::from(ROOT), head_only)
            }
            Request::Rejected(status) => {
                let body = Arc::from(format!("{status}\n").as_bytes());
                (status, "text/plain", body, false)
            }
            Request::Partial => return Ok(()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            body.len()
        );
        let mut stream = &self.stream;
        stream.write_all(head.as_bytes())?;
        if !head_only {
            stream.write_all(&body)?;
        }
        // Unread bytes of the client would make the kernel reset the connection and discard the
        // response.
        stream.set_nonblocking(true)?;
        let mut rest = [0; 1024];
        while matches!(stream.read(&mut rest), Ok(1..)) {}
        stream.shutdown(Shutdown::Write)
    }

    /// Reads until the request is complete, or the client closed the connection.
    fn request(&self) -> io::Result<Request> {
        let (mut bytes, mut buffer) = (Vec::new(), [0; 1024]);
        loop {
            let max = buffer.len().min(MAX_REQUEST_BYTES - bytes.len());
            let number = (&self.stream).read(&mut buffer[..max])?;
            bytes.extend_from_slice(&buffer[..number]);
            match parse(&bytes) {
                Request::Partial if number > 0 => {}
                request => return Ok(request),
            }
        }
    }
}

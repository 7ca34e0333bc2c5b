//! The threads of the load.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::{Context, anyhow};
use taut_linux::tcp::{self, TcpInfo};

use super::connect::{Asking, Connected};
use super::request::Requests;
use super::{bulk, ping, request};
use crate::control::{Control, StopOnDrop};

/// A running load.
pub struct Load {
    /// The sockets of the bulk senders, for their kernel counters.
    senders: Vec<TcpStream>,
    bulk: [JoinHandle<anyhow::Result<()>>; 2],
    echo: JoinHandle<anyhow::Result<()>>,
    requests: JoinHandle<anyhow::Result<Requests>>,
}

impl Connected {
    /// Starts all threads. They end when `control` stops the row.
    pub fn start(self, control: &Arc<Control>) -> anyhow::Result<Load> {
        let (senders, receivers): (Vec<_>, Vec<_>) = self.bulk.into_iter().unzip();
        for receiver in &receivers {
            tcp::set_receive_low_water(receiver, bulk::READ_BYTES)?;
        }
        let (echo, requests) = match self.asking {
            Asking::Requests(client, server) => (
                spawn("echo", control, move |control| {
                    request::answer(server, control)
                })?,
                spawn("request", control, move |control| {
                    request::ask(client, control)
                })?,
            ),
            Asking::Pings(client, server) => (
                spawn("echo", control, move |control| {
                    ping::answer(&server, control)
                })?,
                spawn("ping", control, move |control| ping::ask(&client, control))?,
            ),
        };
        Ok(Load {
            senders: senders
                .iter()
                .map(TcpStream::try_clone)
                .collect::<io::Result<_>>()?,
            bulk: [
                spawn("bulk-send", control, move |control| {
                    bulk::send(senders, control)
                })?,
                spawn("bulk-receive", control, move |control| {
                    bulk::receive(receivers, control)
                })?,
            ],
            echo,
            requests,
        })
    }
}

/// The bytes that the bulk streams have delivered at one time.
pub struct Delivered(Vec<TcpInfo>);

impl Delivered {
    /// Payload bytes that arrived since `before`.
    pub fn bytes_since(&self, before: &Self) -> u64 {
        let segments = |(now, before): (&TcpInfo, &TcpInfo)| {
            let segments = now
                .delivered_segments
                .wrapping_sub(before.delivered_segments);
            u64::from(segments) * u64::from(now.mss_bytes)
        };
        self.0.iter().zip(&before.0).map(segments).sum()
    }
}

impl Load {
    /// Returns the bytes that arrived so far, each segment counted once, including those behind a
    /// hole. The bytes that the application reads stall while a hole is repaired and then jump,
    /// which adds noise over a few seconds.
    pub fn delivered(&self) -> io::Result<Delivered> {
        self.senders
            .iter()
            .map(TcpInfo::of)
            .collect::<io::Result<_>>()
            .map(Delivered)
    }

    /// Waits for every thread. Returns the measurements of the requests.
    pub fn join(self) -> anyhow::Result<Requests> {
        for thread in self.bulk.into_iter().chain([self.echo]) {
            join(thread)?;
        }
        join(self.requests)
    }
}

fn spawn<T: Send + 'static>(
    name: &'static str,
    control: &Arc<Control>,
    work: impl FnOnce(&Control) -> anyhow::Result<T> + Send + 'static,
) -> io::Result<JoinHandle<anyhow::Result<T>>> {
    let control = Arc::clone(control);
    std::thread::Builder::new()
        .name(name.into())
        .spawn(move || {
            let _stop = StopOnDrop(&control);
            work(&control).with_context(|| format!("thread {name}"))
        })
}

fn join<T>(thread: JoinHandle<anyhow::Result<T>>) -> anyhow::Result<T> {
    thread
        .join()
        .map_err(|_| anyhow!("a thread of the load panicked"))?
}

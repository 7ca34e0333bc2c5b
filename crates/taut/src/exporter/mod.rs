//! `taut exporter`: all queues for Prometheus, over HTTP or in a file for the node exporter.

mod connection;
mod histogram;
pub mod options;
mod request;
mod sampler;
mod server;
mod text;

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use taut_linux::observe::Sysfs;

use crate::interrupt;
use crate::observe::gather::{Asked, gather};
use crate::observe::options::Selection;
use crate::talk::say;
use crate::{exit, output};
use options::Exporter;
use sampler::Sampler;
use taut_report::file;

/// A page that is younger is given again: a flood of scrapes reads the queues no more often.
const PAGE_AGE: Duration = Duration::from_millis(100);
/// How often to look whether somebody asks the process to end.
const LOOK: Duration = Duration::from_millis(100);

/// `taut exporter`.
pub fn exporter(options: &Exporter) -> ExitCode {
    let (sysfs, _) = match options.selection.place.open() {
        Ok(opened) => opened,
        Err(code) => return code,
    };
    match run(options, &sysfs) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stopped::Said(code)) => code,
        Err(Stopped::Why(why)) => {
            say!("taut: {why}");
            ExitCode::from(exit::FAILED)
        }
    }
}

enum Stopped {
    Said(ExitCode),
    Why(String),
}

fn run(options: &Exporter, sysfs: &Sysfs) -> Result<(), Stopped> {
    let why = |error: io::Error| Stopped::Why(error.to_string());
    let selection = &options.selection;
    let found = gather(sysfs, selection, Asked::All).map_err(Stopped::Why)?;
    let queues = found.rows().count();
    output::check("text file", options.textfile.as_deref()).map_err(Stopped::Said)?;
    interrupt::note().map_err(why)?;
    let sampler = Sampler::start(sysfs.clone(), selection.clone(), queues).map_err(why)?;
    let mut pages = Pages {
        sysfs,
        selection,
        sampler: &sampler,
        page: None,
    };
    let hz = sampler.rate_hz();
    if let Some(address) = options.listen {
        let mut server = server::Server::bind(address)
            .map_err(|error| Stopped::Why(format!("cannot listen on {address}: {error}")))?;
        let address = server.address().map_err(why)?;
        say!("taut: http://{address}/metrics, {queues} queues, sampled {hz} times a second");
        while interrupt::noted().is_none() {
            server.serve(LOOK, || pages.page()).map_err(why)?;
        }
    } else if let Some(path) = &options.textfile {
        let every = Duration::from_nanos(options.every);
        say!(
            "taut: {} every {every:?}, {queues} queues, sampled {hz} times a second",
            path.display()
        );
        let written = write_again_and_again(path, every, &mut pages);
        // Figures that nobody keeps up to date are worse than none.
        let _ = std::fs::remove_file(path);
        written.map_err(Stopped::Said)?;
    }
    Ok(())
}

fn write_again_and_again(
    path: &Path,
    every: Duration,
    pages: &mut Pages<'_>,
) -> Result<(), ExitCode> {
    loop {
        let text = String::from_utf8_lossy(&pages.page()).into_owned();
        file::replace(path, &text)
            .map_err(|error| output::write_failed("text file", path, &error))?;
        let next = Instant::now() + every;
        while Instant::now() < next {
            if interrupt::noted().is_some() {
                return Ok(());
            }
            std::thread::sleep(LOOK.min(next.saturating_duration_since(Instant::now())));
        }
    }
}

/// Makes the page, at most so often.
struct Pages<'a> {
    sysfs: &'a Sysfs,
    selection: &'a Selection,
    sampler: &'a Sampler,
    page: Option<(Instant, Arc<[u8]>)>,
}

impl Pages<'_> {
    fn page(&mut self) -> Arc<[u8]> {
        let now = Instant::now();
        if let Some((made, page)) = &self.page
            && now.duration_since(*made) < PAGE_AGE
        {
            return Arc::clone(page);
        }
        let found = gather(self.sysfs, self.selection, Asked::WhatIsLeft);
        let page: Arc<[u8]> = text::page(&found, self.sampler).into_bytes().into();
        self.page = Some((now, Arc::clone(&page)));
        page
    }
}

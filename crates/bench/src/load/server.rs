//! The servers that are loaded.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddrV4, TcpStream},
    thread,
    time::{Duration, Instant},
};

use portolan_sys::usage::Usage;
use tempfile::TempDir;

use crate::{Error, Fault, Program, process::Process, program::find};

/// Where each listens.
pub(super) const ADDRESS: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 5_000);

/// How long one may take to get ready, or to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often it is looked whether it listens.
const LOOK: Duration = Duration::from_millis(2);

/// So many bytes each response has as its body.
const BODY_BYTES: usize = 64;

/// Ends nginx when whoever started it ends, however that happens; every Debian has it.
const SETPRIV: &str = "setpriv";

/// One that is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Server {
    /// nginx with one worker.
    Nginx,
    /// `portolan load server --serve http`.
    Http,
    /// `portolan load server --serve sink`.
    Sink,
}

impl Server {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Http | Self::Sink => "portolan",
        }
    }

    /// What is not installed, and how to get it.
    pub(super) fn missing(self) -> Option<String> {
        let is_missing = self == Self::Nginx && find("nginx").is_none();
        is_missing.then(|| format!("not installed: {INSTALL}"))
    }

    /// Starts it in the calling thread's network namespace, on the calling thread's processors.
    pub(super) fn start(self, load: &Program, threads: usize) -> Result<Running, Fault> {
        let (process, directory) = match self {
            Self::Nginx => start_nginx()?,
            Self::Http => (start_own(load, &format!("http={BODY_BYTES}"), threads)?, None),
            Self::Sink => (start_own(load, "sink", threads)?, None),
        };
        Ok(Running { process: Some(process), _directory: directory })
    }
}

const INSTALL: &str = "apt-get install nginx-light";

/// One that listens; it is ended when this is dropped.
pub(super) struct Running {
    process: Option<Process>,
    _directory: Option<TempDir>,
}

impl Running {
    /// Ends it; what it used, its workers included.
    pub(super) fn end(mut self) -> Result<Usage, Fault> {
        let process = self.process.take();
        let ended = process.ok_or_else(|| Fault::Failed("no server".to_owned()))?.end(PATIENCE)?;
        match ended.usage.code {
            Some(0) => Ok(ended.usage),
            _ => Err(Fault::Failed(format!("the server ended early: {}", ended.complaint()))),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // In order, because nginx would leave its worker behind otherwise.
        let _ = self.process.take().map(|process| process.end(PATIENCE));
    }
}

fn start_own(load: &Program, service: &str, threads: usize) -> Result<Process, Fault> {
    let (serve, threads) = (format!("{service}:{ADDRESS}"), threads.to_string());
    // It ends by itself if nobody tells it to.
    let args = ["server", "--serve", &serve, "--transport", "tcp", "--threads", &threads];
    let limit = ["--duration", "10m", "--json"];
    let mut process = Process::start(&load.clone().with(args).with(limit))?;
    process.wait_for_output("\"ready\"", PATIENCE).map_err(Fault::Failed)?;
    Ok(process)
}

fn start_nginx() -> Result<(Process, Option<TempDir>), Fault> {
    let what = || Error::system("write the configuration of nginx");
    let directory = tempfile::Builder::new().prefix("portolan-bench-").tempdir().map_err(what())?;
    let (prefix, file) = (directory.path(), directory.path().join("nginx.conf"));
    fs::write(&file, configuration()).map_err(what())?;
    let missing = || Fault::Failed(format!("not installed: {INSTALL}"));
    let nginx = find("nginx").ok_or_else(missing)?;
    let nginx = Program::new(nginx, ["-p".as_ref(), prefix.as_os_str()])
        .with(["-c".as_ref(), file.as_os_str()]);
    let program = match find(SETPRIV) {
        Some(setpriv) => Program::new(setpriv, ["--pdeathsig", "INT"])
            .with([nginx.path.as_os_str()])
            .with(&nginx.args),
        None => nginx,
    };
    let mut process = Process::start(&program)?;
    wait_until_it_listens(&mut process)?;
    Ok((process, Some(directory)))
}

/// One worker, as many requests on a connection as there are, and no log: what is measured is who
/// sends the requests.
fn configuration() -> String {
    let body = "x".repeat(BODY_BYTES);
    format!(
        "daemon off;\n\
         worker_processes 1;\n\
         pid nginx.pid;\n\
         error_log stderr error;\n\
         events {{ worker_connections 8192; }}\n\
         http {{\n\
         access_log off;\n\
         keepalive_requests 1000000000;\n\
         server {{ listen {ADDRESS} backlog=8192; location / {{ return 200 \"{body}\"; }} }}\n\
         }}\n"
    )
}

fn wait_until_it_listens(process: &mut Process) -> Result<(), Fault> {
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(ADDRESS).is_err() {
        if !process.runs() {
            return Err(Fault::Failed(format!("nginx ended early: {}", process.complaint())));
        }
        if Instant::now() > deadline {
            return Err(Fault::Failed("nginx was not ready in time".to_owned()));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

#[cfg(test)]
mod tests;

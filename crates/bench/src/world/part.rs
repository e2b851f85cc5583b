//! A copy of this program that does something for the world.

use std::{
    io::{self, BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{Error, Program};

/// A process that was told to end is given this long before it is ended.
const PATIENCE: Duration = Duration::from_secs(20);

/// A process that ends when its standard input does, and no later than this value.
#[derive(Debug)]
pub(crate) struct Part {
    child: Child,
    /// Closed to make the process end.
    stdin: Option<ChildStdin>,
    said: Option<BufReader<ChildStdout>>,
}

impl Part {
    /// Starts `program` in the network namespace of the calling thread.
    pub(crate) fn start(program: &Program) -> Result<Self, Error> {
        let mut child = program
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Error::system(format!("run {}", program.describe())))?;
        let (stdin, said) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        Ok(Self { child, stdin, said })
    }

    /// Waits until it says `ready`, a line; fails with the last line that it said instead.
    pub(crate) fn wait_for(&mut self, ready: &str) -> Result<(), String> {
        let mut last = String::new();
        loop {
            match self.line().map_err(|error| error.to_string())? {
                Some(line) if line == ready => return Ok(()),
                Some(line) => last = line,
                None if last.is_empty() => return Err("see above".to_owned()),
                None => return Err(last),
            }
        }
    }

    /// Sends it an empty line and returns the line that it answers.
    pub(crate) fn ask(&mut self) -> io::Result<String> {
        let stdin = self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        stdin.write_all(b"\n")?;
        stdin.flush()?;
        self.line()?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn line(&mut self) -> io::Result<Option<String>> {
        let Some(said) = &mut self.said else { return Ok(None) };
        let mut line = String::new();
        let length = said.read_line(&mut line)?;
        Ok((length > 0).then(|| line.trim_end().to_owned()))
    }

    /// Tells it to end, and waits for nothing.
    pub(crate) fn tell_end(&mut self) {
        drop(self.stdin.take());
    }

    /// Whether it runs.
    #[cfg(test)]
    pub(crate) fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.tell_end();
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            match self.child.try_wait() {
                Ok(None) => thread::sleep(Duration::from_millis(1)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
        // Nothing more can be done about a process that does not even end like this.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests;

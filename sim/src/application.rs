//! A program at one end of a connection.

use std::time::Duration;

use portolan_stack::Instant;

use crate::{
    coverage::{Coverage, Happening},
    host::{Failure, Handle, Host, Received},
    pattern::Pattern,
    scenario::{End, Script},
    violation::Violation,
};

/// One end of a connection, as its program sees it.
#[derive(Debug)]
pub struct Application {
    /// What it is to do.
    pub script: Script,
    /// Which host it runs on.
    pub host: usize,
    /// Its connection.
    pub handle: Handle,
    /// How many bytes it has read, or taken in place.
    pub received: u64,
    /// When it did last.
    pub read_at: Instant,
    /// How many bytes the stack has taken from it.
    pub sent: u64,
    /// Why the connection was over before its time.
    pub failure: Option<Failure>,
    /// The program has read all that the other end sent.
    pub got_end: bool,
    /// The program has given its handle back.
    pub is_over: bool,
    sends: Pattern,
    gets: Pattern,
    /// How many bytes are to come.
    expects: u64,
    began: Instant,
    has_finished: bool,
    next_write: Instant,
    next_read: Instant,
    has_stalled: bool,
    /// What it did that is worth counting.
    pub coverage: Coverage,
}

impl Application {
    /// A program that follows the script on a connection of this host. Of the two streams the first
    /// one is its own; `expects` bytes come along the other one.
    #[must_use]
    pub fn new(
        script: Script,
        (host, handle): (usize, Handle),
        (sends, gets): (Pattern, Pattern),
        expects: u64,
        now: Instant,
    ) -> Self {
        Self {
            script,
            host,
            handle,
            received: 0,
            read_at: now,
            sent: 0,
            failure: None,
            got_end: false,
            is_over: false,
            sends,
            gets,
            expects,
            began: now,
            has_finished: false,
            next_write: now + Duration::from_micros(script.waits_us),
            next_read: now,
            has_stalled: false,
            coverage: Coverage::default(),
        }
    }

    /// Whether the program has said that it writes no more, or has given the handle back.
    #[must_use]
    pub const fn has_closed(&self) -> bool {
        self.has_finished || self.is_over
    }

    /// Whether all that it should read has been read.
    #[must_use]
    pub const fn has_all(&self) -> bool {
        self.got_end && self.received == self.expects
    }

    /// Does what there is to do, and says when to call again, if anything is to be done by time.
    ///
    /// # Errors
    ///
    /// [`Violation`] when what arrived is not what was sent.
    pub fn step(
        &mut self,
        host: &mut dyn Host,
        now: Instant,
    ) -> Result<Option<Instant>, Violation> {
        if self.is_over {
            return Ok(None);
        }
        let was_up = host.was_up(self.handle);
        if let Some(at) = self.ends_at()
            && now >= at
        {
            let is_midway = self.sent < self.script.bytes || self.received < self.expects;
            let what = match self.script.end {
                End::AbortAfterUs(_) => {
                    host.abort(self.handle, now);
                    Happening::AbortedMidway
                }
                _ => {
                    host.close(self.handle, now);
                    Happening::ClosedMidway
                }
            };
            self.coverage.add(what, u64::from(is_midway && was_up));
            self.is_over = true;
            return Ok(None);
        }
        // Nothing is written or ended that is not there yet; a read tells of failures.
        let writes = if was_up { self.write(host, now) } else { None };
        let had_end = self.got_end;
        let reads = self.read(host, now)?;
        let answers = was_up && self.script.replies && self.got_end && !had_end;
        let replies = if answers { self.write(host, now) } else { None };
        let wakes = [writes, reads, replies, self.ends_at()];
        self.end(host, was_up, now);
        Ok(if self.is_over { None } else { wakes.into_iter().flatten().min() })
    }

    /// Takes data in place, as far as the script takes any now.
    ///
    /// # Errors
    ///
    /// [`Violation`] when it is not what was sent.
    pub fn take(&mut self, bytes: &[u8], now: Instant) -> Result<usize, Violation> {
        let may = !self.is_over && self.failure.is_none() && !self.got_end;
        if !self.script.in_place || !may || !self.reads_at(now) {
            return Ok(0);
        }
        let taken = bytes.get(..self.read_most(bytes.len())).unwrap_or(bytes);
        self.check(taken, now)?;
        self.coverage.note(Happening::TookInPlace);
        self.next_read = now + Duration::from_micros(self.script.read_every_us);
        Ok(taken.len())
    }

    /// When it ends whatever is missing.
    fn ends_at(&self) -> Option<Instant> {
        match self.script.end {
            End::AbortAfterUs(us) | End::CloseAfterUs(us) => {
                Some(self.began + Duration::from_micros(us))
            }
            _ => None,
        }
    }

    fn write(&mut self, host: &mut dyn Host, now: Instant) -> Option<Instant> {
        let mut chunk = [0; WRITE_BYTES];
        if self.script.replies && !self.got_end {
            return None;
        }
        while self.failure.is_none() && self.sent < self.script.bytes {
            if now < self.next_write {
                return Some(self.next_write);
            }
            let most = match self.script.write {
                0 => WRITE_BYTES as u64,
                most => most.min(WRITE_BYTES as u64),
            };
            let length = most.min(self.script.bytes - self.sent);
            let chunk = &mut chunk[..usize::try_from(length).unwrap_or_default()];
            self.sends.fill(self.sent, chunk);
            match host.write(self.handle, chunk, now) {
                Ok(0) => return None,
                Ok(taken) => {
                    self.note_write();
                    self.sent += taken as u64;
                }
                Err(failure) => self.failure = Some(failure),
            }
            self.next_write = now + Duration::from_micros(self.script.write_every_us);
        }
        None
    }

    fn read(&mut self, host: &mut dyn Host, now: Instant) -> Result<Option<Instant>, Violation> {
        let mut buffer = [0; READ_BYTES];
        while self.failure.is_none() && !self.got_end {
            if !self.reads_at(now) {
                return Ok(Some(self.next_read));
            }
            let most = self.read_most(READ_BYTES);
            match host.read(self.handle, &mut buffer[..most], now) {
                Received::Bytes(length) => {
                    self.check(&buffer[..length], now)?;
                    let is_slow = self.script.read_every_us > 0;
                    self.coverage.add(Happening::ReadSlowly, u64::from(is_slow));
                }
                Received::Nothing => return Ok(None),
                Received::Finished => self.got_end = true,
                Received::Failed(failure) => self.failure = Some(failure),
            }
            self.next_read = now + Duration::from_micros(self.script.read_every_us);
        }
        Ok(None)
    }

    fn note_write(&mut self) {
        let is_first = self.sent == 0;
        for (happens, what) in [
            (self.script.write_every_us > 0, Happening::WroteSlowly),
            (self.script.replies && is_first, Happening::WroteAfterEnd),
            (self.script.waits_us > 0 && is_first, Happening::WroteLate),
        ] {
            self.coverage.add(what, u64::from(happens));
        }
    }

    /// Whether it reads now; it may begin to stall by that.
    fn reads_at(&mut self, now: Instant) -> bool {
        if let Some((after, us)) = self.script.stall
            && !self.has_stalled
            && self.received >= after
        {
            self.has_stalled = true;
            self.coverage.note(Happening::Stalled);
            self.next_read = now + Duration::from_micros(us);
        }
        now >= self.next_read
    }

    /// How many of so many bytes it reads at once: no more than are missing to the stall.
    fn read_most(&self, most: usize) -> usize {
        let mut wants = most as u64;
        if self.script.read > 0 {
            wants = wants.min(self.script.read);
        }
        if let Some((after, _)) = self.script.stall
            && !self.has_stalled
        {
            wants = wants.min(after - self.received);
        }
        usize::try_from(wants).unwrap_or(most)
    }

    fn check(&mut self, bytes: &[u8], now: Instant) -> Result<(), Violation> {
        if let Some(at) = self.gets.differs(self.received, bytes) {
            let what = format!("host {} read a wrong byte at offset {at} of the stream", self.host);
            return Err(Violation::new("bytes equal", what));
        }
        self.received += bytes.len() as u64;
        self.read_at = now;
        if self.received > self.expects {
            let (received, expects) = (self.received, self.expects);
            let what = format!("host {} read {received} bytes of {expects}", self.host);
            return Err(Violation::new("bytes equal", what));
        }
        Ok(())
    }

    fn end(&mut self, host: &mut dyn Host, is_up: bool, now: Instant) {
        let has_sent = self.sent == self.script.bytes;
        let may_finish = match self.script.end {
            End::AfterPeer => self.got_end,
            End::CloseAfterUs(_) | End::AbortAfterUs(_) => false,
            End::Finish | End::Close => true,
        };
        if self.failure.is_some() {
            host.close(self.handle, now);
            self.is_over = true;
        } else if is_up && has_sent && may_finish && !self.has_finished {
            self.has_finished = true;
            if self.script.end == End::Close {
                host.close(self.handle, now);
                self.is_over = true;
            } else {
                host.finish(self.handle, now);
            }
        }
        if self.has_finished && self.got_end && !self.is_over {
            host.close(self.handle, now);
            self.is_over = true;
        }
    }
}

const WRITE_BYTES: usize = 16 * 1024;
const READ_BYTES: usize = 16 * 1024;

//! Memory: the other end is another value in the same process, maybe in another thread.

use std::{
    collections::VecDeque,
    os::fd::BorrowedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    BATCH_MAX, Nic,
    error::Error,
    frame::{Arrival, Checksum, Departure, Offloads},
};

/// How a pair of ends is made.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The longest packet, from its IP header on, in bytes.
    pub mtu: u16,
    /// How many frames are under way in each direction at most.
    pub frames: usize,
    /// Partial checksums are taken, and arrive as verified: nothing can damage what lies in memory.
    pub checksum: bool,
    /// The longest packet that is to be cut, from its IP header on, in bytes; it arrives whole, as
    /// from a TAP. 0 for none.
    pub segment_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { mtu: 1_500, frames: 256, checksum: false, segment_bytes_max: 0 }
    }
}

/// One end of a link in memory. When the other end is dropped, the link is down.
#[derive(Debug)]
pub struct Mem {
    arriving: Arc<Line>,
    departing: Arc<Line>,
    offloads: Offloads,
    /// Frames on their way between a line and the caller, so that no lock is held while it works.
    batch: Vec<Parcel>,
    /// Buffers that wait for frames to go.
    spare: Vec<Parcel>,
}

/// Makes a link; both ends are alike.
#[must_use]
pub fn pair(options: &Options) -> (Mem, Mem) {
    let line = || {
        let frames = options.frames;
        Arc::new(Line { frames, state: Mutex::new(State::with_capacity(frames)) })
    };
    let (there, back) = (line(), line());
    let end = |arriving: &Arc<Line>, departing: &Arc<Line>| Mem {
        arriving: Arc::clone(arriving),
        departing: Arc::clone(departing),
        offloads: Offloads {
            checksum: options.checksum,
            segment_bytes_max: options.segment_bytes_max,
            mtu: options.mtu,
            mac: None,
        },
        batch: Vec::with_capacity(BATCH_MAX),
        spare: Vec::new(),
    };
    (end(&back, &there), end(&there, &back))
}

/// One direction.
#[derive(Debug)]
struct Line {
    frames: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    under_way: VecDeque<Parcel>,
    /// Buffers that were received and go back to the sender.
    empty: Vec<Parcel>,
    /// One of the ends was dropped.
    is_down: bool,
}

impl State {
    fn with_capacity(frames: usize) -> Self {
        let under_way = VecDeque::with_capacity(frames);
        Self { under_way, empty: Vec::with_capacity(frames), is_down: false }
    }
}

/// A frame in a buffer.
#[derive(Debug)]
struct Parcel {
    bytes: Box<[u8]>,
    len: usize,
    checksum: Checksum,
}

impl Line {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change under the lock is whole: who panics does not leave half of one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mem {
    /// Fills up to `room` buffers into `batch`; whether `fill` has more.
    fn fill_batch(
        &mut self,
        room: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> Option<Departure>,
    ) -> Result<bool, Error> {
        while self.batch.len() < room {
            let mut parcel = self.spare.pop().unwrap_or_else(|| Parcel {
                bytes: vec![0; self.offloads.frame_bytes_max()].into_boxed_slice(),
                len: 0,
                checksum: Checksum::Unknown,
            });
            let Some(departure) = fill(&mut parcel.bytes) else {
                self.spare.push(parcel);
                return Ok(false);
            };
            departure.check_for(NAME, &self.offloads, parcel.bytes.len())?;
            parcel.len = departure.len;
            parcel.checksum = match departure.checksum {
                Some(_) => Checksum::Verified,
                None => Checksum::Unknown,
            };
            self.batch.push(parcel);
        }
        Ok(true)
    }
}

/// What errors call it.
const NAME: &str = "the link in memory";

impl Nic for Mem {
    fn receive(&mut self, take: &mut dyn FnMut(Arrival<'_>)) -> Result<usize, Error> {
        {
            let mut line = self.arriving.lock();
            let count = line.under_way.len().min(BATCH_MAX);
            self.batch.extend(line.under_way.drain(..count));
        }
        let received = self.batch.len();
        if received == 0 {
            return Ok(0);
        }
        for parcel in &self.batch {
            take(Arrival { bytes: &parcel.bytes[..parcel.len], checksum: parcel.checksum });
        }
        self.arriving.lock().empty.append(&mut self.batch);
        Ok(received)
    }

    fn transmit(
        &mut self,
        fill: &mut dyn FnMut(&mut [u8]) -> Option<Departure>,
    ) -> Result<usize, Error> {
        let mut sent = 0;
        loop {
            let room = {
                let mut line = self.departing.lock();
                if line.is_down {
                    return Err(Error::LinkDown { interface: NAME.to_owned() });
                }
                self.spare.append(&mut line.empty);
                // Only this end adds to the line: the room can only grow meanwhile.
                self.departing.frames.saturating_sub(line.under_way.len()).min(BATCH_MAX)
            };
            if room == 0 {
                return Ok(sent);
            }
            let has_more = self.fill_batch(room, fill);
            sent += self.batch.len();
            self.departing.lock().under_way.extend(self.batch.drain(..));
            if !has_more? {
                return Ok(sent);
            }
        }
    }

    fn offloads(&self) -> Offloads {
        self.offloads
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

impl Drop for Mem {
    fn drop(&mut self) {
        for line in [&self.arriving, &self.departing] {
            line.lock().is_down = true;
        }
    }
}

//! The loop of one thread: its queue of the device, its stack, its program.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use portolan_nic::{self as nic, BATCH_MAX, Nic};
use portolan_stack::{Conflict, Event, Instant, Stack};

use crate::{
    Error,
    clock::{now, thread_cpu},
    frame,
    intake::Intake,
    program::{Context, Ending, Next, Program},
    shared::{Handed, Question, Shared},
    wait::wait,
};

/// After so many events, frames have their turn.
const EVENTS_MAX: usize = 4_096;

/// So many connections are looked at between frames, for who asks how they stand.
const LOOK_MAX: usize = 1_024;

/// Counters are shown to other threads so often.
const PUBLISH: Duration = Duration::from_millis(20);

/// A device that is full, one without a descriptor, and a link that is down are asked again after
/// these times. That a full device is writable is not waited for: not every one tells.
const FULL: Duration = Duration::from_micros(50);
const UNWATCHED: Duration = Duration::from_micros(100);
const DOWN: Duration = Duration::from_millis(50);

pub(crate) struct Queue<N, P> {
    pub(crate) nth: usize,
    pub(crate) nic: N,
    pub(crate) stack: Stack,
    pub(crate) program: P,
    pub(crate) shared: Arc<Shared>,
    pub(crate) busy_poll: Duration,
    pub(crate) grace: Duration,
    /// What other threads handed over, and the buffers of frames before.
    handed: VecDeque<Handed>,
    done: Vec<Vec<u8>>,
    ending: Option<(Ending, Instant)>,
    tally: Tally,
    publish_at: Option<Instant>,
    worked_at: Instant,
}

/// What the loop itself counts.
#[derive(Default)]
struct Tally {
    handed_over: u64,
    refused: u64,
    link_down: u64,
    /// The link was down when it was used last.
    is_down: bool,
}

/// What is known after a turn.
#[derive(Default)]
struct Turn {
    /// There is more to do at once.
    is_busy: bool,
    /// The device has no room for frames that wait.
    is_full: bool,
    /// The link is down.
    is_down: bool,
    /// Something happened.
    has_worked: bool,
    /// When the program has a turn.
    program_at: Option<Instant>,
}

impl<N: Nic, P: Program> Queue<N, P> {
    pub(crate) fn new(nth: usize, nic: N, stack: Stack, program: P, shared: Arc<Shared>) -> Self {
        Self {
            nth,
            nic,
            stack,
            program,
            shared,
            busy_poll: Duration::ZERO,
            grace: Duration::ZERO,
            handed: VecDeque::new(),
            done: Vec::new(),
            ending: None,
            tally: Tally::default(),
            publish_at: None,
            worked_at: Instant::ZERO,
        }
    }

    /// Has the program listen.
    pub(crate) fn begin(&mut self) -> Result<(), Error> {
        let (program, mut context) = self.program_and_context(now());
        program.begin(&mut context)
    }

    /// Works until the host ends.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        let done = self.work();
        self.publish();
        done
    }

    fn work(&mut self) -> Result<(), Error> {
        while !self.is_over(now()) {
            let turn = self.turn(now())?;
            if !turn.is_busy {
                self.wait(&turn)?;
            }
        }
        Ok(())
    }

    fn program_and_context(&mut self, now: Instant) -> (&mut P, Context<'_>) {
        let context = Context { stack: &mut self.stack, now, queue: self.nth };
        (&mut self.program, context)
    }

    fn turn(&mut self, now: Instant) -> Result<Turn, Error> {
        let mut turn = Turn::default();
        self.receive(now, &mut turn)?;
        self.take_handed(now, &mut turn);
        if self.stack.poll_timeout().is_some_and(|at| at <= now) {
            self.stack.handle_timeout(now);
            turn.has_worked = true;
        }
        self.tell(now, &mut turn)?;
        let (program, mut context) = self.program_and_context(now);
        match program.turn(&mut context) {
            Next::Wait => {}
            Next::At(at) => turn.program_at = Some(at),
            Next::Again => turn.is_busy = true,
        }
        // What the program did may have consequences that it does not know yet.
        if self.tell(now, &mut turn)? {
            turn.is_busy = true;
        }
        self.transmit(now, &mut turn)?;
        self.tally.is_down &= turn.is_down;
        if turn.has_worked {
            self.worked_at = now;
            self.publish_at.get_or_insert(now + PUBLISH);
        }
        if self.publish_at.is_some_and(|at| at <= now) {
            self.publish();
        }
        Ok(turn)
    }

    fn receive(&mut self, now: Instant, turn: &mut Turn) -> Result<(), Error> {
        let Self { nic, stack, program, shared, tally, nth, .. } = self;
        let handed_over = &mut tally.handed_over;
        let mut intake = Intake { nth: *nth, stack, program, shared, handed_over, now };
        let mut taken = 0;
        let received = nic.receive(&mut |arrival| {
            taken += 1;
            intake.steer(arrival.bytes, frame::checksum(arrival.checksum));
        });
        turn.has_worked |= taken > 0;
        turn.is_busy |= taken >= BATCH_MAX;
        received.map(drop).or_else(|error| self.forgive(error, turn))
    }

    /// What other threads have for this one.
    fn take_handed(&mut self, now: Instant, turn: &mut Turn) {
        let own = &self.shared.queues[self.nth];
        if !own.waker.take() {
            return;
        }
        turn.has_worked = true;
        if self.shared.is_ending() && self.ending.is_none() {
            self.end(Ending::Orderly, now);
        }
        let own = &self.shared.queues[self.nth];
        let questions = own.take_handed(&mut self.handed, &mut self.done);
        let Self { stack, program, shared, tally, nth, handed, done, .. } = self;
        let handed_over = &mut tally.handed_over;
        let mut intake = Intake { nth: *nth, stack, program, shared, handed_over, now };
        for handed in handed.drain(..) {
            match handed {
                Handed::Frame { bytes, checksum } => {
                    intake.take(&bytes, checksum);
                    done.push(bytes);
                }
                Handed::Joined(joined) => intake.take_joined(&joined),
            }
        }
        for Question { first, answer } in questions {
            let (infos, next) = stack.tcp().infos(first, LOOK_MAX);
            // Who asked waits for it.
            let _ = answer.send((infos.collect(), next));
        }
    }

    /// Tells the program what happened; whether anything did.
    ///
    /// # Errors
    /// An address of the host is another's.
    fn tell(&mut self, now: Instant, turn: &mut Turn) -> Result<bool, Error> {
        for told in 0..EVENTS_MAX {
            let Some(event) = self.stack.poll_event() else { return Ok(told > 0) };
            turn.has_worked = true;
            if let Event::AddressConflict(Conflict { address, hardware, is_lost: true }) = event {
                return Err(Error::AddressTaken { address, hardware });
            }
            let (program, mut context) = self.program_and_context(now);
            program.event(&mut context, event);
        }
        turn.is_busy = true;
        Ok(true)
    }

    fn transmit(&mut self, now: Instant, turn: &mut Turn) -> Result<(), Error> {
        let Self { nic, stack, .. } = self;
        let mut is_dry = false;
        let sent = nic.transmit(&mut |buffer| {
            let departure = stack.poll_transmit(now, buffer);
            is_dry = departure.is_none();
            departure.map(frame::departure)
        });
        match sent {
            Ok(sent) => {
                turn.has_worked |= sent > 0;
                turn.is_full = !is_dry;
                Ok(())
            }
            Err(error) => self.forgive(error, turn),
        }
    }

    /// Errors that concern one frame, or a link that may come up again, are counted.
    fn forgive(&mut self, error: nic::Error, turn: &mut Turn) -> Result<(), Error> {
        match error {
            nic::Error::Refused { .. } => {
                self.tally.refused += 1;
                turn.is_busy = true;
            }
            nic::Error::LinkDown { .. } => {
                self.tally.link_down += u64::from(!self.tally.is_down);
                self.tally.is_down = true;
                turn.is_down = true;
            }
            error => return Err(error.into()),
        }
        Ok(())
    }

    fn wait(&self, turn: &Turn) -> Result<(), Error> {
        let now = now();
        if now.since(self.worked_at) < self.busy_poll && !turn.is_down {
            std::hint::spin_loop();
            return Ok(());
        }
        let grace_ends = self.ending.map(|(_, at)| at);
        let deadlines = [self.stack.poll_timeout(), turn.program_at, self.publish_at, grace_ends];
        let longest = deadlines.into_iter().flatten().min().map(|at| at.since(now));
        let descriptor = self.nic.descriptor().filter(|_| !turn.is_down);
        let asked_again = match (&descriptor, turn) {
            (_, Turn { is_down: true, .. }) => Some(DOWN),
            (None, _) => Some(UNWATCHED),
            (_, Turn { is_full: true, .. }) => Some(FULL),
            _ => None,
        };
        let longest = longest.into_iter().chain(asked_again).min();
        let waker = &self.shared.queues[self.nth].waker;
        wait(descriptor, waker, longest).map_err(Error::system("wait for frames"))
    }

    fn end(&mut self, how: Ending, now: Instant) {
        self.ending = Some((how, now + self.grace));
        let (program, mut context) = self.program_and_context(now);
        program.end(&mut context, how);
    }

    /// Whether all is done; connections that take too long are aborted first.
    fn is_over(&mut self, now: Instant) -> bool {
        match self.ending {
            None => false,
            Some((Ending::AtOnce, _)) => true,
            Some((Ending::Orderly, _)) if self.stack.tcp().connections() == 0 => true,
            Some((Ending::Orderly, at)) if now >= at => {
                self.end(Ending::AtOnce, now);
                // The last words. Nobody is left to tell if they do not go out.
                let _ = self.transmit(now, &mut Turn::default());
                true
            }
            Some((Ending::Orderly, _)) => false,
        }
    }

    fn publish(&mut self) {
        self.publish_at = None;
        let Self { stack, shared, nth, tally, .. } = self;
        shared.queues[*nth].publish(|readings| {
            readings.stack = stack.counters().clone();
            let tcp = stack.tcp();
            readings.tcp = *tcp.counters();
            readings.connections = tcp.connections();
            readings.time_waits = tcp.time_waits();
            readings.blocks = tcp.blocks_in_use();
            readings.cpu = thread_cpu();
            readings.handed_over = tally.handed_over;
            readings.refused = tally.refused;
            readings.link_down = tally.link_down;
        });
    }
}

impl<N, P> Drop for Queue<N, P> {
    /// Also where the thread fails, or its program panics: it takes the others along.
    fn drop(&mut self) {
        self.shared.queues[self.nth].close();
        self.shared.end();
    }
}

//! One connection as it is served: reads what comes, and answers it as the address's service does.

use super::{
    counters::Counters,
    http::{self, Date, NEVER, Phase, Then},
    output::{Output, PIECE, Sent},
    service::Service,
    stream::{Failure, Stream},
};

/// Of HTTP less is read at once, because what is not answered yet may have to be kept.
const HTTP_PIECE: usize = 16_384;

/// How often one connection is read before others have their turn.
const READS_IN_TURN: usize = 4;

/// After so many bytes that were sent to one connection, others have their turn.
const SENT_IN_TURN: u64 = 1 << 20;

/// So many bytes are thrown away for a client to read why it was refused.
const LINGER_BYTES_MAX: u32 = 1 << 20;

/// What serves one connection after the other.
pub(super) struct Buffers {
    read: Box<[u8]>,
    filler: Box<[u8]>,
    gathered: Vec<u8>,
    date: Date,
    /// Seconds of a clock that only goes forward.
    now: u32,
}

/// One connection, without what carries it.
pub(super) struct Served {
    state: State,
    output: Output,
    /// The other end has ended or reset it: there is that to be read, after the last bytes.
    pub(super) has_ended: bool,
}

/// What a service knows of a connection.
enum State {
    Echo,
    Fixed {
        request_bytes: u32,
        response_bytes: u32,
        /// Bytes of a request that has not come whole.
        partial: u32,
    },
    /// Apart, so that the others stay small.
    Http(Box<http::State>),
    Sink,
}

/// How a connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goes {
    /// When there is something new to read.
    Reading,
    /// When there is room for the rest of a response; nothing is read meanwhile.
    Writing,
    /// At once, after others had their turn.
    Again,
    /// It does not.
    Ended,
}

impl Buffers {
    pub(super) fn new() -> Self {
        Self {
            read: vec![0; PIECE].into(),
            filler: vec![http::FILLER; PIECE].into(),
            gathered: Vec::with_capacity(http::GATHERED),
            date: Date::new(0),
            now: 0,
        }
    }

    pub(super) fn set_time(&mut self, now: u32, since_1970: u64) {
        self.now = now;
        self.date.set(since_1970);
    }

    /// Seconds of a clock that only goes forward.
    pub(super) fn now(&self) -> u32 {
        self.now
    }
}

impl Served {
    pub(super) fn new(service: Service) -> Self {
        Self { state: State::new(service), output: Output::default(), has_ended: false }
    }

    /// So many bytes are held in memory.
    pub(super) fn held(&self) -> usize {
        self.output.held()
    }

    /// Since which second it keeps HTTP waiting, if it does.
    pub(super) fn waits_since(&self) -> Option<u32> {
        let State::Http(http) = &self.state else { return None };
        Some(http.waits_since).filter(|since| *since != NEVER)
    }

    /// Writes what there is to write and reads what there is to read.
    pub(super) fn go_on(
        &mut self,
        stream: &mut impl Stream,
        buffers: &mut Buffers,
        counters: &Counters,
    ) -> Goes {
        let State::Http(_) = self.state else { return self.turn(stream, buffers, counters) };
        let moved =
            |counters: &Counters| (counters.bytes_received.read(), counters.bytes_sent.read());
        let before = moved(counters);
        let goes = self.turn(stream, buffers, counters);
        let after = moved(counters);
        let is_idle = self.output.is_empty();
        if let State::Http(http) = &mut self.state {
            http.note_time(buffers.now, is_idle, before.0 != after.0, before.1 != after.1);
        }
        goes
    }

    /// Writes and reads until there is nothing more to do, or it has done enough for now.
    fn turn(
        &mut self,
        stream: &mut impl Stream,
        buffers: &mut Buffers,
        counters: &Counters,
    ) -> Goes {
        let piece = if matches!(self.state, State::Http(_)) { HTTP_PIECE } else { PIECE };
        let mut is_drained = false;
        let turn_over_at = counters.bytes_sent.read() + SENT_IN_TURN;
        for _ in 0..=READS_IN_TURN {
            if counters.bytes_sent.read() >= turn_over_at {
                return Goes::Again;
            }
            match self.output.go_on(stream, &buffers.filler, counters) {
                Ok(Sent::All) => {}
                Ok(Sent::Blocked) => return Goes::Writing,
                Ok(Sent::TurnOver) => return Goes::Again,
                Err(failure) => return self.failed(failure, counters),
            }
            if let Some(input) = self.output.take_input() {
                if let Err(failure) = self.take(stream, &input, buffers, counters) {
                    return self.failed(failure, counters);
                }
                continue;
            }
            if self.is_to_be_closed(stream) {
                return Goes::Ended;
            }
            if is_drained {
                return Goes::Reading;
            }
            let count = match stream.read(&mut buffers.read[..piece]) {
                Ok(0) => return self.ended(counters),
                Ok(count) => count,
                Err(Failure::Blocked) => return Goes::Reading,
                Err(Failure::Interrupted) => continue,
                Err(failure) => return self.failed(failure, counters),
            };
            counters.bytes_received.add(count as u64);
            // Nothing comes after a piece that is not full, but for the end.
            is_drained = count < piece && !self.has_ended;
            let read = std::mem::take(&mut buffers.read);
            let taken = self.take(stream, &read[..count], buffers, counters);
            buffers.read = read;
            if let Err(failure) = taken {
                return self.failed(failure, counters);
            }
        }
        Goes::Again
    }

    /// Deals with what came; nothing is to be sent when it begins.
    fn take(
        &mut self,
        stream: &mut impl Stream,
        mut input: &[u8],
        buffers: &mut Buffers,
        counters: &Counters,
    ) -> Result<(), Failure> {
        let Buffers { filler, gathered, date, .. } = buffers;
        let turn_over_at = counters.bytes_sent.read() + SENT_IN_TURN;
        match &mut self.state {
            State::Sink => {}
            State::Echo => {
                self.output.send(stream, input, filler, counters)?;
            }
            State::Fixed { request_bytes, response_bytes, partial } => {
                let requests = count_requests(partial, *request_bytes, input.len());
                self.output.owe(requests * u64::from(*response_bytes));
                counters.requests.add(requests);
            }
            State::Http(http) => {
                while !input.is_empty() && http.phase == Phase::Open {
                    gathered.clear();
                    let taken = http::take(
                        &mut http.parser,
                        http.body_bytes,
                        date,
                        input,
                        gathered,
                        counters,
                    );
                    input = &input[taken.used..];
                    http.phase = match taken.then {
                        Then::Next => Phase::Open,
                        Then::Close => Phase::Closing,
                        Then::Linger => Phase::Refused,
                    };
                    self.output.owe(taken.filler);
                    let sent = self.output.send(stream, gathered, filler, counters)?;
                    if sent != Sent::All || counters.bytes_sent.read() >= turn_over_at {
                        if !input.is_empty() && http.phase == Phase::Open {
                            self.output.hold_input(input);
                        }
                        return Ok(());
                    }
                }
                if let Phase::Lingering(left) = &mut http.phase {
                    *left = left.saturating_sub(u32::try_from(input.len()).unwrap_or(u32::MAX));
                }
            }
        }
        Ok(())
    }

    /// Everything is sent: whether that was the last.
    fn is_to_be_closed(&mut self, stream: &mut impl Stream) -> bool {
        let State::Http(http) = &mut self.state else { return false };
        match http.phase {
            Phase::Open => false,
            Phase::Closing | Phase::Lingering(0) => true,
            Phase::Refused => {
                http.phase = Phase::Lingering(LINGER_BYTES_MAX);
                // Were it closed with bytes to be read, a reset would overtake the response.
                stream.finish().is_err()
            }
            Phase::Lingering(_) => false,
        }
    }

    /// Deals with input of which nothing has to be kept, if nothing is to be sent before; how much
    /// that was. What it owes then is sent by [`Served::go_on`].
    pub(super) fn take_in_place(&mut self, input: &[u8], counters: &Counters) -> usize {
        match &mut self.state {
            State::Sink => {}
            State::Fixed { request_bytes, response_bytes, partial } if self.output.is_empty() => {
                let requests = count_requests(partial, *request_bytes, input.len());
                self.output.owe(requests * u64::from(*response_bytes));
                counters.requests.add(requests);
            }
            _ => return 0,
        }
        counters.bytes_received.add(input.len() as u64);
        input.len()
    }

    /// The other end sends no more.
    fn ended(&self, counters: &Counters) -> Goes {
        counters.truncated.add(self.state.is_within_request().into());
        Goes::Ended
    }

    fn failed(&self, failure: Failure, counters: &Counters) -> Goes {
        if failure == Failure::Reset {
            counters.reset.add(1);
            return self.ended(counters);
        }
        counters.errors.add(1);
        Goes::Ended
    }
}

impl State {
    fn new(service: Service) -> Self {
        match service {
            Service::Echo => Self::Echo,
            Service::Sink => Self::Sink,
            Service::RequestResponse { request_bytes, response_bytes } => {
                Self::Fixed { request_bytes, response_bytes, partial: 0 }
            }
            Service::Http { body_bytes } => Self::Http(Box::new(http::State::new(body_bytes))),
        }
    }

    fn is_within_request(&self) -> bool {
        match self {
            Self::Echo | Self::Sink => false,
            Self::Fixed { partial, .. } => *partial > 0,
            Self::Http(http) => http.phase == Phase::Open && !http.parser.is_idle(),
        }
    }
}

/// How many requests are whole with so much more input, of which the rest is noted.
fn count_requests(partial: &mut u32, request_bytes: u32, input: usize) -> u64 {
    let bytes = u64::from(*partial) + input as u64;
    let size = u64::from(request_bytes);
    // A remainder is smaller than what it remains of.
    *partial = u32::try_from(bytes % size).unwrap_or(0);
    bytes / size
}

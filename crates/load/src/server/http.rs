//! HTTP/1.1 answers: `/` with a body of the chosen size, `/N` with one of N bytes.

mod date;

pub(super) use date::Date;

use super::{counters::Counters, service::BODY_BYTES_MAX};
use crate::http::{Malformed, Method, Request, RequestEvent, RequestParser};

/// Responses are gathered in so many bytes, and sent together.
pub(super) const GATHERED: usize = 16_384;

/// A response's head and short body need no more than this.
const RESPONSE: usize = 4_096;

/// A body up to this length is sent with others; a longer one by itself, from where it lies.
const SHORT_BODY: u64 = 3_072;

/// No second: nothing is waited for.
pub(super) const NEVER: u32 = u32::MAX;

/// A connection over which HTTP is spoken.
pub(super) struct State {
    pub(super) parser: RequestParser,
    pub(super) body_bytes: u64,
    pub(super) phase: Phase,
    /// Since which second nothing went forward that should; `NEVER` if nothing should.
    pub(super) waits_since: u32,
}

/// How far a connection has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Requests are answered.
    Open,
    /// It is closed after the output.
    Closing,
    /// After the output, so many bytes at most are read before it is closed.
    Refused,
    Lingering(u32),
}

/// How a connection goes on after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// With the next request.
    Next,
    /// It is closed.
    Close,
    /// It is closed once the client has read why: what it sends until then is thrown away.
    Linger,
}

/// What came of some input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) used: usize,
    /// So many bytes of filler follow what was gathered.
    pub(super) filler: u64,
    pub(super) then: Then,
}

impl State {
    pub(super) fn new(body_bytes: u64) -> Self {
        let (parser, phase) = (RequestParser::new(), Phase::Open);
        Self { parser, body_bytes, phase, waits_since: NEVER }
    }

    /// Notes since when something is waited for. A head has to come whole in time; of what may be
    /// longer, something.
    pub(super) fn note_time(
        &mut self,
        now: u32,
        is_all_sent: bool,
        has_read: bool,
        has_written: bool,
    ) {
        let is_idle = is_all_sent && self.phase == Phase::Open && self.parser.is_idle();
        let is_moving = has_written || (has_read && self.parser.is_in_body());
        if is_idle {
            self.waits_since = NEVER;
        } else if self.waits_since == NEVER || is_moving {
            self.waits_since = now;
        }
    }
}

/// Answers the requests in `input`, until it is used up, or what is gathered is to be sent first.
pub(super) fn take(
    parser: &mut RequestParser,
    body_bytes: u64,
    date: &Date,
    input: &[u8],
    gathered: &mut Vec<u8>,
    counters: &Counters,
) -> Taken {
    let mut taken = Taken { used: 0, filler: 0, then: Then::Next };
    while taken.used < input.len()
        && taken.filler == 0
        && taken.then == Then::Next
        && gathered.len() + RESPONSE <= GATHERED
    {
        match parser.read(&input[taken.used..]) {
            Ok(read) => {
                taken.used += read.used;
                match read.message {
                    None => {}
                    Some(RequestEvent::Continue) => {
                        gathered.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
                    }
                    Some(RequestEvent::Request(request)) => {
                        counters.requests.add(1);
                        taken.filler = answer(&request, body_bytes, date, gathered, counters);
                        if !request.is_persistent {
                            let has_more = taken.used < input.len();
                            taken.then = if has_more { Then::Linger } else { Then::Close };
                        }
                    }
                }
            }
            Err(malformed) => {
                counters.malformed.add(1);
                refuse(malformed, date, gathered);
                (taken.used, taken.then) = (input.len(), Then::Linger);
            }
        }
    }
    taken
}

/// So many bytes of filler belong to the answer too.
fn answer(
    request: &Request,
    body_bytes: u64,
    date: &Date,
    out: &mut Vec<u8>,
    counters: &Counters,
) -> u64 {
    let body = match request.method {
        Method::Other => Err((405, "Method Not Allowed", "Allow: GET, HEAD, POST, PUT\r\n")),
        _ => route(request.path(), body_bytes).ok_or((404, "Not Found", "")),
    };
    let connection = match (request.is_persistent, request.is_version_0) {
        (false, _) => "Connection: close\r\n",
        (true, true) => "Connection: keep-alive\r\n",
        (true, false) => "",
    };
    let has_body = request.method != Method::Head;
    match body {
        Ok(length) => {
            head(out, 200, "OK", date, length, &["", connection]);
            if !has_body {
                return 0;
            }
            if length > SHORT_BODY {
                return length;
            }
            let end = out.len() + usize::try_from(length).unwrap_or(0);
            out.resize(end, FILLER);
        }
        Err((status, reason, field)) => {
            counters.not_served.add(1);
            head(out, status, reason, date, text_length(reason), &[field, connection]);
            if has_body {
                text(out, reason);
            }
        }
    }
    0
}

/// What bodies consist of.
pub(super) const FILLER: u8 = b'.';

/// The body's length, if there is something at that path.
fn route(path: Option<&[u8]>, body_bytes: u64) -> Option<u64> {
    match path? {
        [] | b"/" => Some(body_bytes),
        [b'/', digits @ ..] if digits.len() <= 10 => {
            let length = digits.iter().try_fold(0_u64, |length, digit| {
                digit.is_ascii_digit().then(|| length * 10 + u64::from(digit - b'0'))
            })?;
            (length <= BODY_BYTES_MAX).then_some(length)
        }
        _ => None,
    }
}

fn refuse(malformed: Malformed, date: &Date, out: &mut Vec<u8>) {
    let status = malformed.status();
    let reason = match status {
        414 => "URI Too Long",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        505 => "HTTP Version Not Supported",
        _ => "Bad Request",
    };
    head(out, status, reason, date, text_length(reason), &["", "Connection: close\r\n"]);
    text(out, reason);
}

fn text_length(reason: &str) -> u64 {
    reason.len() as u64 + 1
}

fn text(out: &mut Vec<u8>, reason: &str) {
    out.extend_from_slice(reason.as_bytes());
    out.push(b'\n');
}

fn head(
    out: &mut Vec<u8>,
    status: u16,
    reason: &str,
    date: &Date,
    length: u64,
    fields: &[&str; 2],
) {
    out.extend_from_slice(b"HTTP/1.1 ");
    number(out, status.into());
    out.push(b' ');
    out.extend_from_slice(reason.as_bytes());
    // RFC 9110, section 6.6.1: who has a clock says what it shows.
    out.extend_from_slice(b"\r\nDate: ");
    out.extend_from_slice(date.text());
    out.extend_from_slice(b"\r\nContent-Type: text/plain\r\nContent-Length: ");
    number(out, length);
    out.extend_from_slice(b"\r\n");
    for field in fields {
        out.extend_from_slice(field.as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

fn number(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 20];
    let (mut first, mut rest) = (digits.len(), number);
    loop {
        first -= 1;
        // A remainder of ten is a digit.
        digits[first] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}

#[cfg(test)]
mod tests;

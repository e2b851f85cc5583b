//! What goes over a connection: messages of fixed size, or HTTP.

use crate::{
    ClientOptions, HttpRequest,
    counts::ErrorKind,
    deadlines::position,
    http::{Malformed, Response, ResponseParser},
};

pub(super) enum Protocol {
    /// A request is so many bytes, and so is its response, if there is one.
    Fixed { request: Box<[u8]>, response_bytes: usize },
    /// For each target a request; for each connection where its response is.
    Http { requests: Box<[HttpRequest]>, parsers: Box<[ResponseParser]> },
}

/// What bytes of a response came to.
pub(super) struct Taken {
    /// So many belong to it.
    pub(super) used: usize,
    /// It is whole.
    pub(super) is_whole: bool,
    /// What is wrong with a response that is whole.
    pub(super) wrong: Option<ErrorKind>,
    /// The connection can be used for another request.
    pub(super) is_persistent: bool,
}

impl Protocol {
    pub(super) fn new(options: &ClientOptions, connections: u32) -> Self {
        let bytes = |count: u32| usize::try_from(count).unwrap_or(0);
        if options.http.is_empty() {
            let request = vec![0; bytes(options.request_bytes)].into();
            return Self::Fixed { request, response_bytes: bytes(options.response_bytes) };
        }
        let requests = options.http.clone().into();
        let parsers = vec![ResponseParser::new(); position(connections)].into();
        Self::Http { requests, parsers }
    }

    #[inline]
    pub(super) fn request(&self, target: u32) -> &[u8] {
        match self {
            Self::Fixed { request, .. } => request,
            Self::Http { requests, .. } => &requests[position(target)].bytes,
        }
    }

    /// Whether requests are answered.
    pub(super) fn has_responses(&self) -> bool {
        !matches!(self, Self::Fixed { response_bytes: 0, .. })
    }

    /// Whether a response may come before its request is sent completely.
    pub(super) fn may_be_early(&self) -> bool {
        matches!(self, Self::Http { .. })
    }

    /// The next bytes of the connection answer a request of this target.
    #[inline]
    pub(super) fn begin_response(&mut self, slot: u32, target: u32) {
        if let Self::Http { requests, parsers } = self {
            parsers[position(slot)].begin(requests[position(target)].is_head);
        }
    }

    /// Takes bytes of a response of which `received` have come before.
    #[inline]
    pub(super) fn take(
        &mut self,
        slot: u32,
        target: u32,
        received: usize,
        bytes: &[u8],
    ) -> Result<Taken, ErrorKind> {
        match self {
            Self::Fixed { response_bytes, .. } => {
                let used = bytes.len().min(*response_bytes - received);
                let is_whole = received + used == *response_bytes;
                Ok(Taken { used, is_whole, wrong: None, is_persistent: true })
            }
            Self::Http { requests, parsers } => {
                let read = parsers[position(slot)].read(bytes);
                let read = read.map_err(|_why: Malformed| ErrorKind::Malformed)?;
                let request = &requests[position(target)];
                let is_persistent = read.message.is_none_or(|response| response.is_persistent);
                let wrong = read.message.and_then(|response| judge(request, &response));
                Ok(Taken {
                    used: read.used,
                    is_whole: read.message.is_some(),
                    wrong,
                    is_persistent,
                })
            }
        }
    }

    /// The other end has closed the connection in order: what is wrong with the response that this
    /// makes whole; an error if it does not.
    pub(super) fn end(&mut self, slot: u32, target: u32) -> Result<Option<ErrorKind>, ErrorKind> {
        let Self::Http { requests, parsers } = self else { return Err(ErrorKind::ClosedEarly) };
        match parsers[position(slot)].end() {
            Ok(response) => Ok(judge(&requests[position(target)], &response)),
            Err(_why) => Err(ErrorKind::ClosedEarly),
        }
    }
}

fn judge(request: &HttpRequest, response: &Response) -> Option<ErrorKind> {
    let is_expected = match request.status {
        Some(status) => status == response.status,
        None => (200..400).contains(&response.status),
    };
    if !is_expected {
        return Some(ErrorKind::Status);
    }
    let bytes =
        if request.is_head { response.content_length.unwrap_or(0) } else { response.body_bytes };
    request.body_bytes.is_some_and(|expected| expected != bytes).then_some(ErrorKind::Length)
}

//! Any bytes are read as requests and as responses, in steps that are bounded; in pieces they are
//! what they are as a whole.

#![no_main]

use libfuzzer_sys::fuzz_target;
use portolan_load::http::{Malformed, RequestParser, Response, ResponseParser};

/// Where messages ended, and what was wrong with the rest.
type Ends<T> = (Vec<(usize, T)>, Option<Malformed>);

fn requests(bytes: &[u8], piece: usize) -> Ends<String> {
    let (mut parser, mut all, mut at) = (RequestParser::new(), Vec::new(), 0);
    while at < bytes.len() {
        let shown = &bytes[at..bytes.len().min(at + piece)];
        match parser.read(shown) {
            Ok(read) => {
                assert!(read.used == shown.len() || (read.used > 0 && read.message.is_some()));
                at += read.used;
                all.extend(read.message.map(|message| (at, format!("{message:?}"))));
            }
            Err(malformed) => return (all, Some(malformed)),
        }
    }
    (all, None)
}

fn responses(bytes: &[u8], piece: usize, is_to_head: bool) -> Ends<Response> {
    let (mut parser, mut all, mut at) = (ResponseParser::new(), Vec::new(), 0);
    parser.begin(is_to_head);
    while at < bytes.len() {
        let shown = &bytes[at..bytes.len().min(at + piece)];
        match parser.read(shown) {
            Ok(read) => {
                assert!(read.used == shown.len() || (read.used > 0 && read.message.is_some()));
                at += read.used;
                if let Some(response) = read.message {
                    assert!(response.body_bytes <= at as u64);
                    all.push((at, response));
                    parser.begin(is_to_head);
                }
            }
            Err(malformed) => return (all, Some(malformed)),
        }
    }
    if let Ok(response) = parser.end() {
        assert!(!response.is_persistent);
        all.push((at, response));
    }
    (all, None)
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, bytes)) = bytes.split_first() else { return };
    let (piece, is_to_head) = (usize::from(first >> 1) + 1, first & 1 == 1);
    assert_eq!(requests(bytes, usize::MAX - bytes.len()), requests(bytes, piece));
    assert_eq!(requests(bytes, 1), requests(bytes, piece));
    let whole = responses(bytes, usize::MAX - bytes.len(), is_to_head);
    assert_eq!(whole, responses(bytes, piece, is_to_head));
    assert_eq!(whole, responses(bytes, 1, is_to_head));
});

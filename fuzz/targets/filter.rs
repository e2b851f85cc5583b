//! Any text is a filter or an error that can be shown; the text of a filter reads as that filter.

#![no_main]

use libfuzzer_sys::fuzz_target;
use portolan_sockets::{BYTECODE_BYTES_MAX, Filter};

fuzz_target!(|text: &str| match Filter::parse(text) {
    Ok(filter) => {
        let code = filter.bytecode().bytes();
        assert!(code.len() <= BYTECODE_BYTES_MAX && code.len().is_multiple_of(4));
        let written = filter.to_string();
        // Written in full, it may be longer than what is read.
        if let Ok(again) = Filter::parse(&written) {
            assert_eq!(again, filter);
        } else {
            assert!(written.len() > portolan_sockets::TEXT_BYTES_MAX);
        }
    }
    Err(error) => {
        assert!(text[error.position()..].starts_with(error.found()));
        assert_eq!(error.to_string().lines().count(), 3);
    }
});

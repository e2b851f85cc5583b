//! Any datagram is read to its end, in at most as many messages as it has room for.

#![no_main]

use libfuzzer_sys::fuzz_target;
use portolan_flow::Transport;
use portolan_sockets::diag::message::messages;

const HEADER_BYTES: usize = 16;

fuzz_target!(|datagram: &[u8]| {
    let mut count = 0;
    for message in messages(datagram) {
        count += 1;
        if let Ok(message) = message {
            let _ = message.part(Transport::Tcp);
        }
    }
    assert!(count <= datagram.len() / HEADER_BYTES + 1);
});

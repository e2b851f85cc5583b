//! Any bytes are read; what is read of them does not depend on where a reader was cut short.

#![no_main]

use libfuzzer_sys::fuzz_target;
use portolan_flow::Transport;
use portolan_sockets::{
    Row,
    record::{BYTES_MAX, decode},
};

fn read(bytes: &[u8]) -> (Vec<Row>, usize) {
    let mut rows = Vec::new();
    let left = decode(bytes, Transport::Tcp, &mut |row| rows.push(row.clone()));
    (rows, left)
}

fuzz_target!(|bytes: &[u8]| {
    let (rows, left) = read(bytes);
    assert!(rows.iter().all(|row| row.local.is_ipv4() == row.remote.is_ipv4()));
    let (head, tail) = bytes.split_at(bytes.len() / 2);
    let (mut again, pending) = read(head);
    let rest = [&head[head.len() - pending..], tail].concat();
    let (more, left_again) = read(&rest);
    again.extend(more);
    assert_eq!((again, left_again), (rows, left));
    // Enough for any record, so it made no sense.
    assert!(left < BYTES_MAX || read(&bytes[bytes.len() - left..]).0.is_empty());
});

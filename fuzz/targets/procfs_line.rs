//! Any line is read; what is read of a beginning of it differs in the last word at most.

#![no_main]

use libfuzzer_sys::fuzz_target;
use portolan_flow::Transport;
use portolan_sockets::procfs::line::{Line, parse};

fuzz_target!(|line: &[u8]| {
    let Line::Row(row) = parse(line, Transport::Tcp) else { return };
    assert_eq!(row.local.is_ipv4(), row.remote.is_ipv4());
    if let Line::Row(cut) = parse(&line[..line.len() - 1], Transport::Tcp) {
        assert_eq!((cut.local, cut.remote, cut.state), (row.local, row.remote, row.state));
    }
});

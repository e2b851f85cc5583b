//! What is particular to this method; that it lists as the others do is tested for all alike.

use std::{
    collections::BTreeSet,
    fs,
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::{
    Details,
    scene::{in_own_namespace, require_root, run_in_own_namespace},
};

fn read(query: &Query) -> Result<Vec<Row>, Error> {
    let mut rows = Vec::new();
    let mut walk = Walk::open(&Place::here())?;
    let coverage = walk.read(query, &mut |row| rows.push(row.clone()))?;
    assert_eq!((coverage.skipped, coverage.torn), (0, false));
    Ok(rows)
}

fn connections(count: usize) -> Vec<TcpStream> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let at = listener.local_addr().expect("bound");
    let pair = |_| {
        let client = TcpStream::connect(at).expect("connected");
        [client, listener.accept().expect("accepted").0]
    };
    (0..count).flat_map(pair).collect()
}

fn established(details: Details) -> Query {
    let states = States::NONE.with(State::Established);
    Query { states, details, ..Query::all(Transport::Tcp) }
}

#[test]
fn only_what_was_asked_for_is_read() {
    in_own_namespace(|| {
        let _streams = connections(2);
        let bare = read(&established(Details::NONE)).expect("listed");
        assert!(bare.iter().all(|row| row.inode == 0), "{bare:?}");
        let holder = Details { holder: true, ..Details::NONE };
        let held = read(&established(holder)).expect("listed");
        assert!(held.iter().all(|row| row.inode != 0), "{held:?}");
        assert_eq!((bare.len(), held.len()), (4, 4));
    });
}

/// Runs `work` in a namespace that has a table of its own, of so many chains
/// (`net.ipv4.tcp_child_ehash_entries`).
fn in_namespace_with_chains(count: u32, work: impl FnOnce() + Send) {
    if !require_root() {
        return;
    }
    run_in_own_namespace(|| {
        let setting = "/proc/sys/net/ipv4/tcp_child_ehash_entries";
        fs::write(setting, count.to_string()).expect("Linux 6.1 or newer has it");
        run_in_own_namespace(work);
    });
}

#[test]
fn a_namespace_with_a_table_of_its_own_is_read_whole() {
    in_namespace_with_chains(1, || {
        let streams = connections(1500);
        let rows = read(&established(Details::default())).expect("listed");
        let distinct: BTreeSet<_> = rows.iter().map(|row| (row.local, row.remote)).collect();
        assert_eq!((rows.len(), distinct.len()), (streams.len(), streams.len()));
    });
}

#[test]
fn a_chain_that_fills_several_buffers_is_read_whole() {
    in_namespace_with_chains(1, || {
        // 48 bytes each, in 256 KiB.
        let streams = connections(4000);
        let rows = read(&established(Details::default())).expect("listed");
        let distinct: BTreeSet<_> = rows.iter().map(|row| (row.local, row.remote)).collect();
        assert_eq!((rows.len(), distinct.len()), (streams.len(), streams.len()));
    });
}

/// The kernel refuses a loop of more than 2^23 turns: the table takes several runs.
#[test]
fn a_table_of_many_millions_of_chains_is_read_whole() {
    in_namespace_with_chains(1 << 24, || {
        let streams = connections(100);
        let rows = read(&established(Details::default())).expect("listed");
        assert_eq!(rows.len(), streams.len());
    });
}

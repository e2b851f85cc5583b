use std::{
    collections::BTreeSet,
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Mutex,
};

use portolan_flow::Transport;

use super::*;
use crate::scene::in_own_namespace;

type Ends = (SocketAddr, SocketAddr);

fn ends(row: &Row) -> Ends {
    (row.local, row.remote)
}

#[test]
fn the_slices_of_every_method_make_up_the_whole() {
    in_own_namespace(|| {
        let listener = TcpListener::bind("127.0.0.1:7000").expect("bound");
        let streams: Vec<(TcpStream, TcpStream)> = (0..300)
            .map(|_| {
                let client = TcpStream::connect("127.0.0.1:7000").expect("connected");
                (client, listener.accept().expect("accepted").0)
            })
            .collect();
        let query = Query::all(Transport::Tcp);
        for method in MethodName::ALL {
            for slices in [1, 2, 3, 4].map(|count| NonZero::new(count).expect("some")) {
                let here = Place::here();
                let each = |rows: &mut Vec<Ends>, row: &Row| rows.push(ends(row));
                let (coverage, parts) =
                    read_in_slices(method, &here, &query, slices, Vec::new, each).expect("listed");
                assert_eq!(parts.len(), slices.get() as usize);
                let all: Vec<Ends> = parts.iter().flatten().copied().collect();
                let distinct: BTreeSet<Ends> = all.iter().copied().collect();
                assert_eq!(distinct.len(), all.len(), "{method} doubled some in {slices} slices");
                assert_eq!(all.len(), 2 * streams.len() + 1, "{method} in {slices} slices");
                assert_eq!(coverage.rows, all.len() as u64);
                // Others slice by ports, and those of few connections may be close together.
                let working = parts.iter().filter(|part| part.len() > 1).count();
                assert!(method != MethodName::Walk || working == parts.len());
            }
        }
    });
}

#[test]
fn every_slice_has_what_begin_made_for_it() {
    let made = Mutex::new(0);
    let begin = || {
        let mut made = made.lock().expect("no panic");
        *made += 1;
        *made
    };
    let slices = NonZero::new(3).expect("some");
    let query = Query::all(Transport::Udp);
    let read = read_in_slices(MethodName::Diag, &Place::here(), &query, slices, begin, |_, _| {});
    let (_, mut works) = read.expect("listed");
    works.sort_unstable();
    assert_eq!(works, [1, 2, 3]);
}

use std::collections::HashSet;

use super::*;

#[test]
fn shares_add_up_and_none_is_too_large() {
    for sockets in [0, 1, 2, 17_999, 18_000, 18_001, 100_000] {
        let shares = Hold::shares(sockets).unwrap();
        let connections: u64 = shares.iter().map(|share| u64::from(share.connections)).sum();
        assert_eq!(connections, sockets.div_ceil(2), "{sockets}");
        assert!(shares.iter().all(|share| (1..=CONNECTIONS_MAX).contains(&share.connections)));
        let places: HashSet<u8> = shares.iter().map(|share| share.share).collect();
        assert_eq!(places.len(), shares.len(), "{sockets}");
    }
    assert_eq!(Hold::shares(100_000).unwrap().len(), 6);
}

#[test]
fn more_than_all_processes_may_hold_is_refused() {
    assert!(matches!(Hold::shares(4_500_001), Err(Error::TooMany { .. })));
    let share = Hold { connections: CONNECTIONS_MAX + 1, share: 0 };
    let refused = hold(share, &mut Vec::new(), &mut io::empty());
    assert!(matches!(refused, Err(Error::TooMany { .. })));
}

#[test]
fn no_two_connections_have_the_same_addresses() {
    let mut tuples = HashSet::new();
    for share in [0, 1, PROCESSES_MAX - 1] {
        for number in 0..CONNECTIONS_MAX {
            let share = Hold { connections: CONNECTIONS_MAX, share };
            let (client, port) = share.tuple(number);
            assert!(client.ip().is_loopback() && share.server(port).ip().is_loopback());
            assert!(tuples.insert((client, share.server(port))));
        }
    }
    let clients: HashSet<_> = tuples.iter().map(|(client, _)| *client.ip()).collect();
    let servers: HashSet<_> = tuples.iter().map(|(_, server)| *server).collect();
    assert_eq!((clients.len(), servers.len()), (3 * 4, 3 * 4));
}

#[test]
fn connections_are_held_until_the_input_ends() {
    let mut said = Vec::new();
    // In the namespace where the test runs, on loopback.
    hold(Hold { connections: 3, share: 200 }, &mut said, &mut io::empty()).unwrap();
    assert_eq!(said, b"ready 3\n");
}

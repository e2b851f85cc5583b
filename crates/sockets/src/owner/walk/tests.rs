use super::*;

#[test]
fn of_several_holders_the_lowest_counts_and_the_first_process_last() {
    for (pids, expected) in [
        (&[7][..], 7),
        (&[7, 9], 7),
        (&[9, 7], 7),
        (&[9, 7, 8], 7),
        (&[1, 9], 9),
        (&[9, 1], 9),
        (&[1, 9, 7], 7),
        (&[1], 1),
        (&[1, 1], 1),
    ] {
        let mut holders = HashMap::new();
        for &pid in pids {
            insert(&mut holders, 42, pid);
        }
        assert_eq!(holders, HashMap::from([(42, expected)]), "{pids:?}");
    }
}

#[test]
fn other_sockets_are_not_touched() {
    let mut holders = HashMap::from([(1, 100), (2, 200)]);
    insert(&mut holders, 1, 50);
    assert_eq!(holders, HashMap::from([(1, 50), (2, 200)]));
}

#[test]
fn only_links_to_sockets_have_a_number() {
    assert_eq!(socket_inode(b"socket:[0]"), Some(0));
    assert_eq!(socket_inode(b"socket:[4294967295]"), Some(u32::MAX));
    for link in [
        &b"socket:[4294967296]"[..],
        b"socket:[]",
        b"socket:[-1]",
        b"socket:[1",
        b"socket:1]",
        b"socket:[1] ",
        b"socket:[\xff]",
        b"pipe:[1]",
        b"anon_inode:[eventpoll]",
        b"/socket:[1]",
        b"",
    ] {
        assert_eq!(socket_inode(link), None, "{}", String::from_utf8_lossy(link));
    }
}

/// The longest link to a socket fits the buffer that links are read into.
#[test]
fn the_longest_link_fits() {
    let longest = format!("socket:[{}]", u32::MAX);
    assert!(longest.len() < LINK_BYTES_MAX);
}

use std::{fs::File, net::TcpListener};

use super::*;
use crate::scene::{self, Program, eventually};

#[test]
fn of_several_holders_the_lowest_counts_and_managers_last() {
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
        // 5 is the manager of a user.
        (&[5, 9], 9),
        (&[9, 5, 7], 7),
        (&[5], 5),
        (&[5, 1], 1),
    ] {
        let mut holders = Holders::default();
        for &pid in pids {
            insert(&mut holders, 42, pid, |pid| pid == 1 || pid == 5);
        }
        assert_eq!(holders, Holders::from_iter([(42, expected)]), "{pids:?}");
    }
}

#[test]
fn other_sockets_are_not_touched() {
    let mut holders = Holders::from_iter([(1, 100), (2, 200)]);
    insert(&mut holders, 1, 50, |_| false);
    assert_eq!(holders, Holders::from_iter([(1, 50), (2, 200)]));
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

#[test]
fn a_manager_of_services_is_known_by_its_name() {
    let mut named = Program::perl("$0 = 'systemd'; print qq(named\\n)");
    assert_eq!(named.line(), "named");
    let mut managers = Managers::default();
    assert!(managers.contains(1), "whatever its name is");
    assert!(managers.contains(named.pid()));
    assert!(!managers.contains(std::process::id()));
    assert!(!managers.contains(u32::MAX), "nobody");
}

#[test]
fn only_a_process_that_ended_is_passed_over() {
    for error in [Errno::NOENT, Errno::SRCH, Errno::NOTDIR] {
        assert!(matches!(Obstacle::of(error), Obstacle::Ended), "{error}");
    }
    for error in [Errno::ACCESS, Errno::PERM] {
        assert!(matches!(Obstacle::of(error), Obstacle::Hidden), "{error}");
    }
    for error in [Errno::MFILE, Errno::NFILE, Errno::NOMEM] {
        assert!(matches!(Obstacle::of(error), Obstacle::Other(_)), "{error}");
    }
    let next = AtomicUsize::new(0);
    let part = walk_some(&[u32::MAX], &next).expect("a process that is not there is no obstacle");
    assert_eq!((part.found, part.hidden_processes), (vec![], 0));
}

/// In a process of its own, since the limit is the whole process's.
#[test]
fn a_walk_without_a_free_descriptor_fails() {
    scene::run_alone("owner::walk::tests::a_walk_without_a_free_descriptor_fails", || {
        let socket = TcpListener::bind("127.0.0.1:0").expect("loopback is up");
        let limit = rustix::process::Resource::Nofile;
        let few =
            rustix::process::Rlimit { current: Some(40), ..rustix::process::getrlimit(limit) };
        rustix::process::setrlimit(limit, few).expect("lower is always allowed");
        let all: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
        let walked = walk_side_by_side(&[std::process::id()]);
        assert!(all.len() < 40, "the limit counts");
        drop(all);
        let error = walked.expect_err("nothing can be opened");
        assert_eq!(error.raw_os_error(), Some(Errno::MFILE.raw_os_error()));
        drop(socket);
    });
}

/// A server whose first thread calls pthread_exit(): its other threads hold all sockets.
#[test]
fn a_process_whose_first_thread_ended_holds_its_sockets() {
    let mut program = Program::without_leader();
    let inode: u32 = program.line().parse().expect("an inode number");
    let pid = program.pid();
    eventually("its first thread ends", || has_lost_its_leader(pid));
    let walked = walk().expect("/proc is mounted");
    assert_eq!(walked.holders.get(&inode), Some(&pid));
    assert!(!has_lost_its_leader(std::process::id()));
}

//! Who holds which socket, by the iterator over descriptors.

use std::{
    fs,
    os::fd::{AsFd, AsRawFd},
    process::Command,
};

use super::*;
use crate::{Owners, scene::require_root};

/// Set in the process that a test starts in a PID namespace of its own.
const INSIDE: &str = "PORTOLAN_TEST_INSIDE";

fn inode(socket: impl AsFd) -> u32 {
    let link = fs::read_link(format!("/proc/self/fd/{}", socket.as_fd().as_raw_fd()));
    let link = link.expect("an open descriptor").to_string_lossy().into_owned();
    link.trim_matches(|c: char| !c.is_ascii_digit()).parse().expect("a number")
}

/// The processes that hold the socket, in order.
fn holders(inode: u32) -> Vec<u32> {
    let found = holdings().expect("root may");
    let pids: BTreeSet<u32> =
        found.into_iter().filter(|held| held.0 == inode).map(|held| held.1).collect();
    pids.into_iter().collect()
}

/// What the walk over `/proc` says of a socket that a test holds.
fn in_proc(inode: u32) -> Option<u32> {
    let mut owners = Owners::new();
    owners.walk().expect("/proc is mounted");
    owners.holder(inode).map(|holder| holder.pid)
}

#[test]
fn a_shared_socket_has_all_its_holders() {
    if !require_root() {
        return;
    }
    // A child inherits it.
    let mut program = Program::perl(
        "socket(L, PF_INET, SOCK_STREAM, 6); $child = fork; \
         if (!$child) { <STDIN>; exit } print((stat L)[1], qq( $child\\n))",
    );
    let line = program.line();
    let (number, child) = line.split_once(' ').expect("two numbers");
    let (number, child) = (number.parse().expect("an inode"), child.parse().expect("a process"));
    assert_eq!(holders(number), [program.pid().min(child), program.pid().max(child)]);
    assert_eq!(in_proc(number), Some(program.pid().min(child)));
}

#[test]
fn threads_do_not_count_again() {
    if !require_root() {
        return;
    }
    let socket = UdpSocket::bind("[::1]:0").expect("loopback is up");
    let number = inode(&socket);
    let (ready, is_ready) = std::sync::mpsc::channel();
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            ready.send(()).expect("is waited for");
            is_done.recv().expect("is told");
        });
        is_ready.recv().expect("it runs");
        let found = holdings().expect("root may");
        let own: Vec<_> = found.iter().filter(|held| held.0 == number).collect();
        assert_eq!(own, [&(number, std::process::id())]);
        done.send(()).expect("it waits");
    });
    assert_eq!(in_proc(number), Some(std::process::id()));
}

#[test]
fn a_process_whose_first_thread_ended_holds_its_sockets() {
    if !require_root() {
        return;
    }
    let mut program = Program::without_leader();
    let number: u32 = program.line().parse().expect("an inode number");
    let stat = format!("/proc/{}/stat", program.pid());
    let ended = || fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") Z "));
    eventually("its first thread ends", ended);
    assert_eq!(holders(number), [program.pid()]);
    assert_eq!(in_proc(number), Some(program.pid()));
}

#[test]
fn other_kinds_of_sockets_and_files_are_left_out() {
    if !require_root() {
        return;
    }
    let (one, other) = std::os::unix::net::UnixStream::pair().expect("two ends");
    let file = fs::File::open("/dev/null").expect("is there");
    let null = std::os::unix::fs::MetadataExt::ino(&file.metadata().expect("is there"));
    let null = u32::try_from(null).expect("small");
    let own = |held: &&(u32, u32)| held.1 == std::process::id();
    let found = holdings().expect("root may");
    for number in [inode(&one), inode(&other), null] {
        assert!(!found.iter().filter(own).any(|held| held.0 == number), "{number}");
    }
}

/// Process ids are those that the observer sees, who may be in a container.
#[test]
fn an_observer_in_a_pid_namespace_sees_its_own_numbers() {
    if std::env::var_os(INSIDE).is_some() {
        let socket = TcpListener::bind("127.0.0.1:0").expect("loopback is up");
        assert!(std::process::id() < 100, "a namespace of its own");
        assert_eq!(holders(inode(&socket)), [std::process::id()]);
        let found = holdings().expect("root may");
        assert!(found.iter().all(|held| held.1 < 100), "none that it cannot see: {found:?}");
        return;
    }
    if !require_root() {
        return;
    }
    let test = "iter::tests::files::an_observer_in_a_pid_namespace_sees_its_own_numbers";
    let run = Command::new("unshare")
        .args(["--pid", "--fork", "--mount-proc", "--"])
        .arg(std::env::current_exe().expect("linux has /proc/self/exe"))
        .args([test, "--exact", "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .expect("util-linux is always there");
    let output = String::from_utf8_lossy(&run.stdout);
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && output.contains("1 passed"), "{output}{errors}");
}

/// All at once: whatever the processes of a test hold, and as often as `/proc` says.
#[test]
fn every_held_socket_is_found() {
    if !require_root() {
        return;
    }
    const SOCKETS: usize = 10_000;
    const { assert!(8 * SOCKETS > 2 * program::READ_BYTES, "it takes several reads") };
    let mut program = Program::perl(&format!(
        "for (1..{SOCKETS}) {{ socket($s[$_], PF_INET, SOCK_STREAM, 6) or die $!; }} \
         print qq(opened\\n)"
    ));
    assert_eq!(program.line(), "opened");
    let entries = fs::read_dir(format!("/proc/{}/fd", program.pid())).expect("it runs");
    let links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    let sockets = links.filter_map(|link| {
        let link = link.to_string_lossy().into_owned();
        link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    });
    let expected: BTreeSet<u32> = sockets.collect();
    assert_eq!(expected.len(), SOCKETS);
    let found = holdings().expect("root may");
    let found: Vec<u32> =
        found.into_iter().filter(|held| held.1 == program.pid()).map(|held| held.0).collect();
    assert_eq!(found.len(), SOCKETS, "each once");
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
}

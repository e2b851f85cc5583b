use std::{fs, net::TcpListener, os::unix::fs::MetadataExt, process};

use super::*;

#[test]
fn a_socket_of_this_process_is_found() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&listener));
    let number = u32::try_from(fs::metadata(link).expect("it is open").ino()).expect("a number");
    let holder = find()[&number];
    assert_eq!(holder.pid, process::id());
    assert!(!holder.name.is_empty() && !holder.name.is_threads);
}

#[test]
fn only_sockets_are_sockets() {
    assert_eq!(inode(Path::new("socket:[4711]")), Some(4711));
    for other in ["pipe:[4711]", "/dev/null", "socket:[", "socket:[x]"] {
        assert_eq!(inode(Path::new(other)), None, "{other}");
    }
}

#[test]
fn a_group_is_the_unified_hierarchys() {
    let here = fs::metadata("/proc/self").expect("it is mounted").ino();
    let lines = b"12:cpu:/elsewhere\n0::/self\n";
    assert!(group(lines, Path::new("/proc")).is_some_and(|found| found == here));
    assert_eq!(group(b"12:cpu:/self\n", Path::new("/proc")), None);
}

use std::{net::UdpSocket, os::fd::AsRawFd};

use super::*;

#[test]
fn what_is_set_is_got() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let fd = socket.as_raw_fd();
    for wanted in [1, 0] {
        set(fd, libc::SOL_SOCKET, libc::SO_BROADCAST, &wanted).unwrap();
        let mut value: libc::c_int = -1;
        get(fd, libc::SOL_SOCKET, libc::SO_BROADCAST, &mut value).unwrap();
        assert_eq!(value, wanted);
        assert_eq!(socket.broadcast().unwrap(), wanted == 1);
    }
}

#[test]
fn the_kernels_error_is_told() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let fd = socket.as_raw_fd();
    let error = set(fd, libc::SOL_SOCKET, -1, &1).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOPROTOOPT));
    let error = get(fd, libc::SOL_SOCKET, -1, &mut 1).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOPROTOOPT));
    let file = std::fs::File::open("/dev/null").unwrap();
    let error = set(file.as_raw_fd(), libc::SOL_SOCKET, libc::SO_BROADCAST, &1).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOTSOCK));
}

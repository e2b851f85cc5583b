use std::net::UdpSocket;

use super::*;

/// Sends a datagram to a port where nobody listens, and returns what the queue says about it,
/// with the two addresses.
fn refused(address: &str) -> (Received, SocketAddr, Vec<u8>) {
    let nobody = UdpSocket::bind((address, 0)).unwrap().local_addr().unwrap();
    let socket = UdpSocket::bind((address, 0)).unwrap();
    enable(&socket, nobody.is_ipv6()).unwrap();
    let mut quoted = [0; 64];
    assert_eq!(receive(&socket, &mut quoted).unwrap(), None, "nothing was sent yet");
    socket.send_to(b"is anybody there?", nobody).unwrap();
    let received = loop {
        if let Some(received) = receive(&socket, &mut quoted).unwrap() {
            break received;
        }
        std::thread::yield_now();
    };
    assert_eq!(receive(&socket, &mut quoted).unwrap(), None, "one datagram, one error");
    (received, nobody, quoted[..received.quoted_len].to_vec())
}

#[test]
fn an_icmp_message_over_ipv4_is_told_with_type_code_addresses_and_bytes() {
    let (received, nobody, quoted) = refused("127.0.0.1");
    assert_eq!(received.origin, Origin::Icmp);
    assert_eq!(received.errno, libc::ECONNREFUSED);
    assert_eq!((received.kind, received.code), (3, 3));
    assert_eq!(received.destination, Some(nobody));
    assert_eq!(received.offender, Some(nobody.ip()));
    assert_eq!(quoted, b"is anybody there?");
}

#[test]
fn an_icmp_message_over_ipv6_is_told_with_type_code_addresses_and_bytes() {
    let (received, nobody, quoted) = refused("::1");
    assert_eq!(received.origin, Origin::Icmp6);
    assert_eq!(received.errno, libc::ECONNREFUSED);
    assert_eq!((received.kind, received.code), (1, 4));
    assert_eq!(received.destination, Some(nobody));
    assert_eq!(received.offender, Some(nobody.ip()));
    assert_eq!(quoted, b"is anybody there?");
}

#[test]
fn what_does_not_fit_is_cut_off() {
    let nobody = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    enable(&socket, false).unwrap();
    socket.send_to(b"is anybody there?", nobody).unwrap();
    let mut quoted = [0; 5];
    let received = loop {
        if let Some(received) = receive(&socket, &mut quoted).unwrap() {
            break received;
        }
        std::thread::yield_now();
    };
    assert_eq!((received.quoted_len, &quoted), (5, b"is an"));
}

#[test]
fn the_wrong_family_is_an_error() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    assert!(enable(&socket, true).is_err());
}

#[test]
fn what_is_no_socket_is_an_error() {
    let file = std::fs::File::open("/dev/null").unwrap();
    assert_eq!(receive(&file, &mut []).unwrap_err().raw_os_error(), Some(libc::ENOTSOCK));
}

fn control(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
    let mut bytes = (HEADER + data.len()).to_ne_bytes().to_vec();
    bytes.extend(level.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
    bytes
}

fn error(origin: u8, kind: u8, code: u8) -> Vec<u8> {
    let mut bytes = libc::EHOSTUNREACH.to_ne_bytes().to_vec();
    bytes.extend([origin, kind, code, 0]);
    bytes.extend([0; 8]);
    bytes
}

#[test]
fn the_error_is_found_behind_other_control_messages() {
    let mut bytes = control(libc::SOL_SOCKET, libc::SCM_TIMESTAMP, &[0; 13]);
    bytes.extend(control(libc::IPPROTO_IP, libc::IP_RECVERR, &error(2, 3, 13)));
    let found = extended_error(&bytes);
    assert_eq!((found.origin, found.kind, found.code), (Origin::Icmp, 3, 13));
    assert_eq!((found.errno, found.offender), (libc::EHOSTUNREACH, None));
}

#[test]
fn only_icmp_has_type_and_code() {
    let origin = |origin| {
        let bytes = control(libc::IPPROTO_IP, libc::IP_RECVERR, &error(origin, 9, 8));
        let found = extended_error(&bytes);
        (found.origin, found.kind, found.code)
    };
    assert_eq!(origin(0), (Origin::Other, 0, 0));
    assert_eq!(origin(1), (Origin::Local, 0, 0));
    assert_eq!(origin(2), (Origin::Icmp, 9, 8));
    assert_eq!(origin(3), (Origin::Icmp6, 9, 8));
    assert_eq!(origin(4), (Origin::Other, 0, 0));
}

#[test]
fn control_messages_cut_anywhere_or_of_any_length_are_no_error() {
    let mut whole = control(libc::SOL_SOCKET, libc::SCM_TIMESTAMP, &[0; 16]);
    whole.extend(control(libc::IPPROTO_IPV6, libc::IPV6_RECVERR, &error(3, 1, 4)));
    assert_eq!(extended_error(&whole).origin, Origin::Icmp6);
    for cut in 0..whole.len() {
        assert_eq!(extended_error(&whole[..cut]).origin, Origin::Other, "cut to {cut}");
    }
    for length in [0, 1, HEADER - 1, HEADER, usize::MAX - 6, usize::MAX] {
        let mut wrong = whole.clone();
        wrong[..ALIGN].copy_from_slice(&length.to_ne_bytes());
        let _ = extended_error(&wrong);
    }
}

#[test]
fn addresses_cut_short_are_none() {
    let mut v6 = (libc::AF_INET6 as u16).to_ne_bytes().to_vec();
    v6.extend(443_u16.to_be_bytes());
    v6.extend([0; 4]);
    v6.extend(Ipv6Addr::LOCALHOST.octets());
    v6.extend(7_u32.to_ne_bytes());
    assert_eq!(address(&v6), Some(SocketAddrV6::new(Ipv6Addr::LOCALHOST, 443, 0, 7).into()));
    for cut in 0..v6.len() {
        assert_eq!(address(&v6[..cut]), None);
    }
    assert_eq!(address(&[0; 16]), None, "AF_UNSPEC: the kernel knows no offender");
}

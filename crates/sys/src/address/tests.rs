use std::net::UdpSocket;

use super::*;

fn round_trip(address: &str) -> Option<SocketAddr> {
    let (storage, len) = Destination::Ip(address.parse().unwrap()).to_kernel();
    from_kernel(&storage, len)
}

#[test]
fn what_is_written_is_read() {
    for address in ["10.1.2.3:80", "255.255.255.255:65535", "0.0.0.0:0", "[2001:db8::1]:443"] {
        assert_eq!(round_trip(address), Some(address.parse().unwrap()), "{address}");
    }
}

#[test]
fn the_zone_and_the_flow_label_are_kept() {
    let address = SocketAddrV6::new("fe80::1".parse().unwrap(), 80, 0x12345, 7);
    let (storage, len) = Destination::Ip(address.into()).to_kernel();
    assert_eq!(from_kernel(&storage, len), Some(address.into()));
}

#[test]
fn the_kernel_reads_it_the_same() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let socket = UdpSocket::bind(address).unwrap();
        let (storage, len) = Destination::Ip(socket.local_addr().unwrap()).to_kernel();
        // SAFETY: the kernel reads `len` bytes of an address that is at least as long.
        let sent = unsafe {
            let to = (&raw const storage).cast();
            libc::sendto(socket.as_raw_fd(), b"it".as_ptr().cast(), 2, 0, to, len)
        };
        assert_eq!(sent, 2, "{}", io::Error::last_os_error());
        // Loopback has delivered it by now.
        socket.set_nonblocking(true).unwrap();
        let mut bytes = [0; 2];
        let from = socket.recv_from(&mut bytes).unwrap();
        assert_eq!(from, (2, socket.local_addr().unwrap()));
    }
}

#[test]
fn a_neighbour_is_written_as_packet_sockets_have_it() {
    let to = Destination::Link { interface: 3, ether_type: 0x86dd, address: [1, 2, 3, 4, 5, 6] };
    let (storage, len) = to.to_kernel();
    assert_eq!(len as usize, size_of::<libc::sockaddr_ll>());
    // SAFETY: that is what was written.
    let it = unsafe { (&raw const storage).cast::<libc::sockaddr_ll>().read() };
    assert_eq!(i32::from(it.sll_family), libc::AF_PACKET);
    assert_eq!(it.sll_protocol.to_ne_bytes(), [0x86, 0xdd], "as on the wire");
    assert_eq!((it.sll_ifindex, it.sll_halen), (3, 6));
    assert_eq!(it.sll_addr, [1, 2, 3, 4, 5, 6, 0, 0]);
    assert_eq!(from_kernel(&storage, len), None, "it is no address of IP");
}

#[test]
fn what_is_cut_short_is_no_address() {
    for (address, whole) in [
        ("10.1.2.3:80", size_of::<libc::sockaddr_in>()),
        ("[::1]:80", size_of::<libc::sockaddr_in6>()),
    ] {
        let (storage, len) = Destination::Ip(address.parse().unwrap()).to_kernel();
        assert_eq!(len as usize, whole);
        for cut in 0..len {
            assert_eq!(from_kernel(&storage, cut), None, "{address} cut to {cut}");
        }
    }
}

use super::*;

fn target() -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(127, 10, 0, 1), 80)
}

fn source() -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, 54_321)
}

/// A segment from `from` with `flags`, behind an IP header.
fn packet(from: SocketAddrV4, flags: u8) -> Vec<u8> {
    let mut packet = vec![0; 40];
    packet[12..16].copy_from_slice(&from.ip().octets());
    packet[20..22].copy_from_slice(&from.port().to_be_bytes());
    packet[33] = flags;
    packet
}

#[test]
fn a_segment_with_its_checksum_adds_up_to_all_ones() {
    let segment = syn(source(), target());
    assert_eq!(checksum(*source().ip(), *target().ip(), &segment), 0);
    assert_eq!(segment[..2], 54_321_u16.to_be_bytes());
    assert_eq!((segment[12], segment[13]), (0x50, SYN));
}

#[test]
fn only_what_comes_from_the_target_is_an_answer() {
    let other = SocketAddrV4::new(*target().ip(), 81);
    assert_eq!(answer(&packet(target(), SYN | ACK), target()), Some(true));
    assert_eq!(answer(&packet(target(), RST | ACK), target()), Some(false));
    assert_eq!(answer(&packet(target(), SYN), target()), None);
    assert_eq!(answer(&packet(other, SYN | ACK), target()), None);
    assert_eq!(answer(&packet(source(), SYN | ACK), target()), None);
}

#[test]
fn what_is_cut_off_is_no_answer() {
    let whole = packet(target(), SYN | ACK);
    for length in 0..34 {
        assert_eq!(answer(&whole[..length], target()), None);
    }
}

#[test]
fn the_command_line_says_everything() {
    let timeout = Duration::from_millis(50);
    let plan = Published { target: target(), source: source(), count: 7, timeout };
    let args = "--target 127.10.0.1:80 --source 127.0.0.1:54321 --count 7 --timeout-ms 50";
    assert_eq!(plan.to_args().join(" "), args);
}

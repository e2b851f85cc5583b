use std::net::{Ipv4Addr, Ipv6Addr};

use super::*;

fn steering(queues: usize) -> Steering {
    Steering::new(queues, 32_768..=60_999, Key::new(1, 2))
}

const OWN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));

#[test]
fn answers_to_a_connection_find_the_queue_that_opened_it() {
    for queues in 1..=7 {
        let steering = steering(queues);
        let mut next = 32_768;
        for queue in 0..queues {
            let ports = steering.ports_of(queue);
            assert_eq!(*ports.start(), next, "each port belongs to one queue");
            next = *ports.end() + 1;
            for port in ports {
                assert_eq!(steering.of_flow((OWN, port), (OTHER, 80)), queue, "port {port}");
            }
        }
        assert_eq!(next, 61_000);
    }
}

#[test]
fn more_queues_than_ports_leave_some_without() {
    let steering = Steering::new(4, 1_000..=1_001, Key::new(1, 2));
    let ports: Vec<usize> = (0..4).map(|queue| steering.ports_of(queue).len()).collect();
    assert_eq!(ports.iter().sum::<usize>(), 2);
    assert!(ports.contains(&0), "{ports:?}");
}

#[test]
fn flows_to_a_port_are_spread_evenly() {
    let steering = steering(4);
    let mut counts = [0; 4];
    for port in 1_024..5_024 {
        counts[steering.of_flow((OWN, 80), (OTHER, port))] += 1;
    }
    // Four times a quarter, with a deviation of about 27: 10 of those are never met by chance.
    assert!(counts.iter().all(|count| (730..=1_270).contains(count)), "{counts:?}");
}

/// A frame of IPv4 with this payload.
fn frame(protocol: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    let len = u8::try_from(20 + payload.len()).unwrap();
    frame.extend([0x45, 0, 0, len, 0, 0]);
    frame.extend(fragment.to_be_bytes());
    frame.extend([64, protocol, 0, 0, 192, 0, 2, 2, 192, 0, 2, 1]);
    frame.extend_from_slice(payload);
    frame
}

#[test]
fn segments_and_errors_find_who_knows_them() {
    let steering = steering(4);
    let ports = [0x12, 0x34, 0, 80, 0, 0, 0, 0];
    let queue = steering.of_flow((OWN, 80), (OTHER, 0x1234));
    assert_eq!(steering.of_frame(&frame(6, 0, &ports)), Whose::Queue(queue));
    assert_eq!(steering.of_frame(&frame(17, 0, &ports)), Whose::Queue(queue));
    assert_eq!(steering.of_frame(&frame(17, 0x2000, &ports)), Whose::Queue(0), "fragments meet");
    assert_eq!(steering.of_frame(&frame(1, 0, &[3, 3, 0, 0])), Whose::All, "unreachable");
    assert_eq!(steering.of_frame(&frame(1, 0, &[8, 0, 0, 0])), Whose::Queue(0), "ping");
    assert_eq!(steering.of_frame(&[1, 2, 3]), Whose::Queue(0), "no frame");
}

/// A frame of IPv6 with a fragment header in front of this payload.
fn fragment_v6(place: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd];
    let len = u8::try_from(8 + payload.len()).unwrap();
    frame.extend([0x60, 0, 0, 0, 0, len, 44, 64]);
    for address in [OTHER_V6, OWN_V6] {
        frame.extend(address.octets());
    }
    frame.extend([6, 0]);
    frame.extend(place.to_be_bytes());
    frame.extend([0, 0, 0, 9]);
    frame.extend_from_slice(payload);
    frame
}

const OWN_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const OTHER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);

/// RFC 6946: a fragment that is all there waits for no others, so its queue is known.
#[test]
fn an_atomic_fragment_is_a_segment_as_others() {
    let steering = steering(4);
    let queue = |port| steering.of_flow((OWN_V6.into(), 80), (OTHER_V6.into(), port));
    let port = (1..).find(|&port| queue(port) == 3).unwrap();
    let [high, low] = port.to_be_bytes();
    let ports = [high, low, 0, 80, 0, 0, 0, 0];
    assert_eq!(steering.of_frame(&fragment_v6(0, &ports)), Whose::Queue(3));
    assert_eq!(steering.of_frame(&fragment_v6(1, &ports)), Whose::Queue(0), "others follow");
    assert_eq!(steering.of_frame(&fragment_v6(8, &ports)), Whose::Queue(0), "it is a later one");
}

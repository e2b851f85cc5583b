//! TAP, with packet sockets at the kernel's end, and with the kernel's TCP.

mod conformance;
mod kernel;
mod throughput;

use conformance::{Link, conformance, frame, in_namespace, ip};
use portolan_nic::{Error, Nic, Origin, Packet, Tap, packet::Options};
use portolan_sys::{
    capabilities::{self, CapabilitySet},
    interface,
};

mod single {
    use super::*;

    conformance!(|| {
        let tap = Tap::open("tap0", 1).unwrap().remove(0);
        tap.set_up(true).unwrap();
        let far = Packet::open("tap0", 1, &Options::default()).unwrap().remove(0);
        let set_up = Some((|is_up| interface::set_up("tap0", is_up).unwrap()) as fn(bool));
        Link { near: Box::new(tap), far: Some(Box::new(far)), set_up }
    });
}

#[test]
fn it_says_whether_it_made_the_interface() {
    in_namespace(|| {
        let made = Tap::open("tap%d", 2).unwrap();
        let names: Vec<_> = made.iter().map(Tap::name).collect();
        assert_eq!(names, ["tap0", "tap0"], "the kernel chose, once");
        assert!(made.iter().all(|tap| tap.origin() == Origin::Created));
        // One more queue of an interface that has several.
        let further = Tap::open("tap0", 1).unwrap();
        assert_eq!(further[0].origin(), Origin::Attached);
        drop((made, further));
        assert!(interface::index("tap0").is_err(), "it goes with its last queue");
        assert_eq!(Tap::open("tap0", 1).unwrap()[0].origin(), Origin::Created);
    });
}

#[test]
fn it_reads_the_mtu() {
    in_namespace(|| {
        ip("tuntap add dev tap0 mode tap");
        ip("link set tap0 mtu 9000");
        let taps = Tap::open("tap0", 1).unwrap();
        assert_eq!(taps[0].offloads().mtu, 9_000);
        assert_eq!(taps[0].origin(), Origin::Attached);
        drop(taps);
        assert!(interface::index("tap0").is_ok(), "who made it keeps it");
    });
}

#[test]
fn queues_share_the_flows() {
    in_namespace(|| {
        let mut taps = Tap::open("tap0", 3).unwrap();
        taps[0].set_up(true).unwrap();
        ip("addr add 192.0.2.1/24 dev tap0");
        ip("neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev tap0");
        let sender = std::net::UdpSocket::bind("192.0.2.1:0").unwrap();
        for port in 1..=200 {
            sender.send_to(&[0; 32], ("192.0.2.2", port)).unwrap();
        }
        let counts = taps.iter_mut().map(|tap| {
            let mut count = 0;
            while tap.receive(&mut |it| count += u32::from(it.bytes[12] == 8)).unwrap() > 0 {}
            count
        });
        let counts: Vec<u32> = counts.collect();
        assert_eq!(counts.iter().sum::<u32>(), 200, "{counts:?}");
        // That one of three gets none of 200 flows has a probability of 10^-35.
        assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
    });
}

#[test]
fn what_cannot_be_opened_is_explained() {
    in_namespace(|| {
        let explained = |name: &str, queues: usize| {
            let error = Tap::open(name, queues).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
            error
        };
        ip("tuntap add dev single mode tap");
        assert!(explained("single", 2).contains("mode tap multi_queue"));
        let _held = Tap::open("single", 1).unwrap();
        assert!(explained("single", 1).contains("another program has it"));
        ip("tuntap add dev tun0 mode tun");
        assert!(explained("tun0", 1).contains("has to be a TAP"));
        assert!(explained("lo", 1).contains("has to be a TAP"));
        assert!(explained("a-name-of-20-bytes--", 1).contains("1 to 15 bytes"));
        assert!(Tap::open("none", 0).is_err());
        capabilities::retain(CapabilitySet::empty()).unwrap();
        assert!(explained("tap9", 1).contains("CAP_NET_ADMIN"));
    });
}

#[test]
fn an_interface_that_goes_is_said() {
    in_namespace(|| {
        let mut tap = Tap::open("tap0", 1).unwrap().remove(0);
        tap.set_up(true).unwrap();
        ip("link del tap0");
        let error = tap.receive(&mut |_| ()).unwrap_err();
        assert!(matches!(error, Error::Gone { .. }), "{error}");
        let mut next = Some(frame(60, 1));
        let fill = &mut |buffer: &mut [u8]| conformance::put(buffer, &next.take()?);
        let error = tap.transmit(fill).unwrap_err();
        assert!(matches!(error, Error::Gone { .. }), "{error}");
        assert!(matches!(tap.set_up(true), Err(Error::Gone { .. })));
    });
}

//! Packet sockets, on both ends of a veth pair and on a TAP.

mod conformance;

use std::{
    thread,
    time::{Duration, Instant},
};

use conformance::{Link, conformance, frame, in_namespace, ip};
use portolan_nic::{Error, Nic, Packet, Tap, packet::Options};
use portolan_sys::{
    capabilities::{self, CapabilitySet},
    interface,
};

fn veth() {
    ip("link add near type veth peer name far");
    ip("link set near up");
    ip("link set far up");
}

fn one(name: &str, options: &Options) -> Packet {
    Packet::open(name, 1, options).unwrap().remove(0)
}

fn on_veth(options: &Options) -> Link {
    veth();
    let far = one("far", &Options::default());
    let set_up = Some((|is_up| interface::set_up("near", is_up).unwrap()) as fn(bool));
    Link { near: Box::new(one("near", options)), far: Some(Box::new(far)), set_up }
}

mod on_veth {
    use super::*;

    conformance!(|| on_veth(&Options::default()));
}

mod without_offloads {
    use super::*;

    conformance!(|| on_veth(&Options { offloads: false, ..Options::default() }));
}

mod on_tap {
    use super::*;

    conformance!(|| {
        let tap = Tap::open("tap0", 1).unwrap().remove(0);
        tap.set_up(true).unwrap();
        let near = Box::new(one("tap0", &Options::default()));
        let set_up = Some((|is_up| interface::set_up("tap0", is_up).unwrap()) as fn(bool));
        Link { near, far: Some(Box::new(tap)), set_up }
    });
}

#[test]
fn it_says_which_address_it_has_and_takes_any_when_promiscuous() {
    in_namespace(|| {
        veth();
        let address = interface::ethernet_address("near").unwrap();
        assert!(address.is_some());
        assert_eq!(one("near", &Options::default()).offloads().mac, address);
        let promiscuous = Options { is_promiscuous: true, ..Options::default() };
        assert_eq!(one("near", &promiscuous).offloads().mac, None);
    });
}

#[test]
fn what_cannot_be_opened_is_explained() {
    in_namespace(|| {
        let error = Packet::open("nothing", 1, &Options::default()).unwrap_err().to_string();
        assert!(error.contains("nothing") && error.contains("`ip link`"), "{error}");
        ip("link add near type veth peer name far");
        let error = Packet::open("near", 1, &Options::default()).unwrap_err();
        assert!(matches!(error, Error::LinkDown { .. }), "{error}");
        assert!(error.to_string().contains("ip link set near up"), "{error}");
        ip("link set near up");
        assert!(Packet::open("near", 0, &Options::default()).is_err());
        capabilities::retain(CapabilitySet::empty()).unwrap();
        let error = Packet::open("near", 1, &Options::default()).unwrap_err().to_string();
        assert!(error.contains("CAP_NET_RAW"), "{error}");
    });
}

#[test]
fn a_link_without_a_carrier_is_down_and_not_full() {
    in_namespace(|| {
        let Link { mut near, .. } = on_veth(&Options::default());
        ip("link set far down");
        let mut next = Some(frame(60, 1));
        let fill = &mut |buffer: &mut [u8]| conformance::put(buffer, &next.take()?);
        // The kernel tells up to a second later; until then the device counts as full.
        let began = Instant::now();
        let error = loop {
            match near.transmit(fill) {
                Ok(sent) => assert_eq!(sent, 0),
                Err(error) => break error,
            }
            assert!(began.elapsed() < conformance::PATIENCE);
            thread::sleep(Duration::from_millis(1));
        };
        assert!(matches!(error, Error::LinkDown { .. }), "{error}");
        ip("link set far up");
        let mut far = one("far", &Options::default());
        conformance::send(&mut *near, &[frame(60, 2)]);
        assert_eq!(conformance::receive(&mut far, 1)[0].bytes, frame(60, 2), "only this one");
    });
}

#[test]
fn an_interface_that_goes_is_said() {
    in_namespace(|| {
        // At once, or down first: the kernel wakes nobody then when it goes.
        for is_down_first in [false, true] {
            let Link { mut near, .. } = on_veth(&Options::default());
            if is_down_first {
                ip("link set near down");
                for _ in 0..3 {
                    let error = near.receive(&mut |_| ()).unwrap_err();
                    assert!(matches!(error, Error::LinkDown { .. }), "{error}");
                }
                ip("link set near up");
                assert_eq!(near.receive(&mut |_| ()).unwrap(), 0);
                ip("link set near down");
                assert!(near.receive(&mut |_| ()).is_err());
            }
            ip("link del far");
            for _ in 0..3 {
                let error = near.receive(&mut |_| ()).unwrap_err();
                assert!(matches!(error, Error::Gone { .. }), "{error}");
            }
            let mut next = Some(frame(60, 1));
            let fill = &mut |buffer: &mut [u8]| conformance::put(buffer, &next.take()?);
            let error = near.transmit(fill).unwrap_err();
            assert!(matches!(error, Error::Gone { .. }), "{error}");
        }
    });
}

#[test]
fn frames_that_there_was_no_room_for_are_counted() {
    in_namespace(|| {
        veth();
        let small = one("far", &Options { receive_bytes: 4_096, ..Options::default() });
        let frames: Vec<_> = (0..300).map(|number| frame(1_000, number)).collect();
        let mut near = one("near", &Options::default());
        conformance::send(&mut near, &frames);
        assert!(small.take_lost().unwrap() > 200);
    });
}

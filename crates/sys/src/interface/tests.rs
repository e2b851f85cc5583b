use std::{
    thread,
    time::{Duration, Instant},
};

use super::*;
use crate::{
    capabilities::{self, CapabilitySet},
    netns,
};

fn in_namespace(test: impl FnOnce() + Send) {
    let inside = || {
        netns::unshare_thread().expect("needs root, to make a network namespace");
        test();
    };
    thread::scope(|scope| {
        let ran = scope.spawn(inside).join();
        ran.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

#[test]
fn a_fresh_namespace_has_loopback_and_it_is_down() {
    in_namespace(|| {
        assert_eq!(index("lo").unwrap(), 1);
        assert_eq!(mtu("lo").unwrap(), 65_536);
        assert_eq!(ethernet_address("lo").unwrap(), None, "loopback is no Ethernet");
        assert!(!is_up("lo").unwrap() && !is_running("lo").unwrap());
        set_up("lo", true).unwrap();
        assert!(is_up("lo").unwrap() && is_running("lo").unwrap());
        set_up("lo", false).unwrap();
        assert!(!is_up("lo").unwrap());
    });
}

#[test]
fn names_that_are_none_are_refused_before_the_kernel_cuts_them() {
    for name in ["", "sixteen-bytes-xx", "a/b", "a\0b"] {
        assert_eq!(index(name).unwrap_err().raw_os_error(), Some(libc::EINVAL), "{name:?}");
    }
    assert_eq!(index("nothing-so").unwrap_err().raw_os_error(), Some(libc::ENODEV));
}

#[test]
fn without_the_privilege_nothing_is_changed() {
    in_namespace(|| {
        capabilities::retain(CapabilitySet::empty()).unwrap();
        assert_eq!(set_up("lo", true).unwrap_err().raw_os_error(), Some(libc::EPERM));
        assert!(!is_up("lo").unwrap(), "asking is free");
    });
}

#[test]
fn an_address_that_is_given_can_be_bound() {
    in_namespace(|| {
        set_up("lo", true).unwrap();
        for (address, prefix_len) in [("192.0.2.1", 24), ("198.51.100.1", 32), ("2001:db8::1", 64)]
        {
            let address: IpAddr = address.parse().unwrap();
            let bind = || std::net::UdpSocket::bind((address, 0));
            assert!(bind().is_err(), "{address}");
            add_address("lo", address, prefix_len).unwrap();
            // Over IPv6 a worker of the kernel's has to agree first.
            let given_up_at = Instant::now() + Duration::from_secs(30);
            while let Err(error) = bind() {
                assert!(Instant::now() < given_up_at, "{address}: {error}");
                thread::yield_now();
            }
        }
        let again = add_address("lo", "2001:db8::1".parse().unwrap(), 64).unwrap_err();
        assert_eq!(again.raw_os_error(), Some(libc::EEXIST));
        assert!(add_address("none", "192.0.2.1".parse().unwrap(), 24).is_err());
    });
}

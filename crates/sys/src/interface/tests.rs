use std::thread;

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

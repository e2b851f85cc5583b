use std::thread;

use super::*;
use crate::netns;

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
fn an_interface_lives_as_long_as_its_queue() {
    in_namespace(|| {
        let queue = open().unwrap();
        assert!(set_offload(&queue, true).is_err(), "it has no interface yet");
        assert_eq!(attach(&queue, "tap%d", false).unwrap(), "tap0");
        set_header_bytes(&queue, 10).unwrap();
        assert!(set_header_bytes(&queue, 9).is_err());
        for segments in [true, false] {
            set_offload(&queue, segments).unwrap();
        }
        assert!(interface::ethernet_address("tap0").unwrap().is_some());
        drop(queue);
        assert!(interface::index("tap0").is_err());
    });
}

#[test]
fn one_queue_is_busy_and_several_are_not() {
    in_namespace(|| {
        let (first, second) = (open().unwrap(), open().unwrap());
        attach(&first, "one", false).unwrap();
        let error = attach(&second, "one", false).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EBUSY));
        let error = attach(&second, "one", true).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
        let (third, fourth) = (open().unwrap(), open().unwrap());
        attach(&third, "several", true).unwrap();
        attach(&fourth, "several", true).unwrap();
    });
}

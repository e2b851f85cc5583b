use super::*;

fn opening(kind: Kind, errno: i32) -> String {
    let source = io::Error::from_raw_os_error(errno);
    Error::Open { kind, interface: "eth7".to_owned(), source }.to_string()
}

#[test]
fn errors_name_the_interface_and_what_to_do() {
    for (kind, errno, advice) in [
        (Kind::Tap, EPERM, "CAP_NET_ADMIN"),
        (Kind::Tap, EBUSY, "another program has it"),
        (Kind::Tap, EINVAL, "multi_queue"),
        (Kind::Tap, E2BIG, "fewer"),
        (Kind::Packet, EPERM, "CAP_NET_RAW"),
        (Kind::Packet, ENODEV, "`ip link`"),
        (Kind::Packet, 5, "`ip link`"),
    ] {
        let text = opening(kind, errno);
        assert!(text.contains("eth7") && text.contains(advice), "{text}");
        assert!(!text.contains("  "), "{text}");
    }
    let no_tun = |errno| {
        let source = io::Error::from_raw_os_error(errno);
        Error::NoTun { interface: "tap3".to_owned(), source }.to_string()
    };
    let text = no_tun(2);
    assert!(text.contains("tap3") && text.contains("modprobe tun"), "{text}");
    let text = no_tun(13);
    assert!(text.contains("sudo") && !text.contains("modprobe"), "{text}");
}

#[test]
fn a_name_that_cannot_be_is_told_from_an_interface_that_is_no_tap() {
    for name in ["a/b", "sixteen-letters-", "a b", ""] {
        let source = io::Error::from_raw_os_error(EINVAL);
        let error = Error::Open { kind: Kind::Tap, interface: name.to_owned(), source };
        let text = error.to_string();
        assert!(text.contains("1 to 15 bytes") && !text.contains("multi_queue"), "{text}");
    }
    assert!(!opening(Kind::Tap, EINVAL).contains("15 bytes"));
}

#[test]
fn errors_of_open_devices_are_told_apart() {
    let of = |errno| Error::of("receive", "eth7", io::Error::from_raw_os_error(errno));
    assert!(matches!(of(ENETDOWN), Error::LinkDown { .. }));
    assert!(matches!(of(EIO), Error::LinkDown { .. }));
    assert!(matches!(of(ENXIO), Error::Gone { .. }));
    assert!(matches!(of(EBADFD), Error::Gone { .. }));
    assert!(of(12).to_string().contains("cannot receive by eth7"));
}

use super::*;

#[test]
fn loopback_cuts_segments_and_completes_checksums() {
    let active = features("lo").unwrap();
    for feature in ["tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-checksum-ip-generic"] {
        assert!(active.contains(feature), "{feature} is not in {active:?}");
    }
    assert!(!active.contains("hw-tc-offload"), "{active:?}");
    assert!(!active.contains(""), "the words are names");
}

#[test]
fn what_does_not_exist_cannot_be_asked() {
    assert_eq!(features("nothing").unwrap_err().raw_os_error(), Some(libc::ENODEV));
}

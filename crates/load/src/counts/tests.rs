use super::*;

#[test]
fn every_kind_of_error_is_added_by_its_name() {
    let mut errors = Errors::default();
    for (nth, (errno, name)) in [
        (Errno::CONNREFUSED, "refused"),
        (Errno::TIMEDOUT, "timed_out"),
        (Errno::NETUNREACH, "unreachable"),
        (Errno::PIPE, "reset"),
        (Errno::ADDRNOTAVAIL, "no_source_port"),
        (Errno::MFILE, "shortage"),
        (Errno::PERM, "denied"),
        (Errno::MSGSIZE, "other"),
    ]
    .into_iter()
    .enumerate()
    {
        errors.add(ErrorKind::of(errno));
        let named = errors.by_kind().into_iter().find(|(kind, _)| *kind == name);
        assert_eq!(named, Some((name, 1)));
        assert_eq!(errors.total(), u64::try_from(nth + 1).unwrap());
    }
    errors += errors;
    assert_eq!((errors.reset, errors.total()), (2, 16));
}

#[test]
fn sums_leave_out_no_field() {
    // A field that is missing in an AddAssign stays at what it was.
    let ones = |text: &str| text.replace(":0", ":1");
    let twos = |text: &str| text.replace(":0", ":2");
    let empty = serde_json::to_string(&TargetCounts::default()).unwrap();
    let mut counts: TargetCounts = serde_json::from_str(&ones(&empty)).unwrap();
    counts += counts;
    assert_eq!(serde_json::to_string(&counts).unwrap(), twos(&empty));
}

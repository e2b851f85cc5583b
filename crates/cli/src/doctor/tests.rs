use super::*;

#[test]
fn findings_stand_below_their_topic_with_what_to_do() {
    let findings = [
        Finding::new("host", "kernel", Status::Ok, "Linux 6.1"),
        Finding::new("host", "BTF", Status::Limited, "none").advise("build it in"),
        Finding::new("map", "snapshot", Status::Refused, "no sockets"),
    ];
    let mut out = anstream::StripStream::new(Vec::new());
    write(&findings, &mut out).expect("a vector takes all");
    let expected = "\
host
  kernel    ok         Linux 6.1
  BTF       limited    none
                       -> build it in

map
  snapshot  refused    no sockets
";
    assert_eq!(String::from_utf8(out.into_inner()).expect("text"), expected);
}

#[test]
fn a_job_without_a_method_is_a_no() {
    let ok = |topic| Finding::new(topic, "m", Status::Ok, "");
    let no = |topic| Finding::new(topic, "m", Status::Refused, "");
    let all = ["sockets", "map", "trace", "probe"];
    let mut findings: Vec<Finding> = all.into_iter().flat_map(|job| [no(job), ok(job)]).collect();
    assert!(jobs::all_can_be_done(&findings));
    assert!(!jobs::all_can_be_done(&all.map(no)));
    for job in all {
        let rest = findings.iter().filter(|it| it.topic != job || it.status == Status::Refused);
        let rest: Vec<Finding> = rest.cloned().collect();
        assert!(!jobs::all_can_be_done(&rest), "{job}");
    }
    // Where the programs attach is no method.
    findings.retain(|finding| finding.topic != "trace");
    findings.push(ok("attach"));
    assert!(!jobs::all_can_be_done(&findings));
}

#[test]
fn this_host_is_diagnosed() {
    let findings = jobs::find();
    for topic in ["sockets", "owners", "namespaces", "map", "attach", "trace", "probe", "nic"] {
        assert!(findings.iter().any(|finding| finding.topic == topic), "{topic} is missing");
    }
    let advised = |finding: &Finding| finding.advice.is_some() || finding.status != Status::Refused;
    assert!(findings.iter().all(advised), "a refusal says what to do: {findings:?}");
}

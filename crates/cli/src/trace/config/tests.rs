use super::*;
use crate::trace::sample::{args, config};

fn refusal(line: &str) -> String {
    match args(line) {
        Err(error) => error.to_string(),
        Ok(args) => match Config::check(&args) {
            Err(error) => error.to_string(),
            Ok(config) => panic!("{line}: {config:?}"),
        },
    }
}

#[test]
fn what_is_not_said_is_the_usual() {
    let config = config("");
    assert_eq!(config.wanted.way, Way::Best);
    assert_eq!(config.wanted.trace.attach, None);
    assert!(config.wanted.trace.udp);
    assert_eq!(config.interval, Duration::from_secs(1));
    assert_eq!((config.count, config.duration), (None, None));
    assert_eq!(config.order, Order::Connections);
}

#[test]
fn once_is_one_interval_as_a_table_or_as_json() {
    assert_eq!((config("--once").count, config("--once").format), (Some(1), Format::Table));
    assert_eq!(config("--once --json").format, Format::Json);
    assert_eq!(config("--count 3 --json").count, Some(3));
}

#[test]
fn udp_is_not_traced_where_nobody_wants_it() {
    for (line, traced, shown) in [
        ("--tcp", false, Some(Transport::Tcp)),
        ("--no-udp", false, Some(Transport::Tcp)),
        ("--udp", true, Some(Transport::Udp)),
        ("--tcp --udp", true, None),
    ] {
        let config = config(line);
        assert_eq!((config.wanted.trace.udp, config.scope.transport), (traced, shown), "{line}");
    }
}

#[test]
fn methods_and_attach_points_have_names() {
    let config = config("--method stream --attach tp_btf --udp-attach cgroup_skb --edges-max 7");
    assert_eq!(config.wanted.way, Way::Traced(MethodName::Stream));
    assert_eq!(config.wanted.trace.attach, Some(portolan_trace::Attach::TpBtf));
    let udp_attach = portolan_trace::UdpAttach::CgroupSkb;
    assert_eq!(config.wanted.trace.udp_attach, Some(udp_attach));
    assert_eq!(config.wanted.trace.edges_max, 7);
}

#[test]
fn words_need_no_flag() {
    assert_eq!(config("redis 10.0.0.1").words, "redis 10.0.0.1");
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    for (line, part) in [
        ("--interval 50ms", "between 100ms and 1h"),
        ("--interval 2h", "between 100ms and 1h"),
        ("--interval soon", "expected number"),
        ("--duration 0s", "longer than 0s"),
        ("--count 0", "0 is not in 1.."),
        ("--edges-max 0", "0 is not in 1..=4194304"),
        ("--once --count 2", "cannot be used with"),
        ("--udp --no-udp", "cannot be used with"),
        ("--method snapshot --attach kprobe", "are for the methods that trace"),
        ("--method snapshot --udp-attach fentry", "are for the methods that trace"),
        ("--tcp --udp-attach fentry", "--udp-attach is for UDP"),
        ("--no-udp --udp-attach fentry", "cannot be used with"),
        ("--method snapshot --failed", "--failed needs a method that traces"),
        ("--method ebpf", "[possible values: auto, bundle, aggregate, stream, snapshot]"),
        ("--attach uprobe", "[possible values: auto, tp_btf, fentry, kprobe, cgroup]"),
        ("--sort size", "[possible values: connections, bytes, rtt, retransmits"),
        ("--port 70000", "70000 is not in 0..=65535"),
    ] {
        let refusal = refusal(line);
        assert!(refusal.contains(part), "{line}: {refusal}");
    }
}

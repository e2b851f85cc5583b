use clap::Parser;
use portolan_flow::Transport;

use super::*;
use crate::{
    metrics::{MetricsArgs, Shown},
    trace::sample::{Told, flow, opened},
};

#[derive(Debug, Parser)]
struct Only {
    #[command(flatten)]
    metrics: MetricsArgs,
}

/// An edge of each transport.
fn reading() -> anyhow::Result<Observed> {
    let mut udp = flow("dig", "named", 53, opened(1));
    udp.transport = Transport::Udp;
    Ok(Observed { flows: vec![flow("a", "b", 1, opened(2)), udp], ..Observed::default() })
}

#[test]
fn each_reading_is_handed_on_and_counted_as_far_as_it_is_in_scope() {
    let only = Only::try_parse_from(["trace", "--metrics", "127.0.0.1:0"]).expect("valid");
    let wanted = only.metrics.check().expect("valid").expect("metrics");
    let exports = wanted.bind().expect("a port").start(false, Shown::OnStderr).expect("a thread");
    let scope = Scope { transport: Some(Transport::Tcp), ..Scope::default() };
    let place = exports.place();
    let told = Told { readings: [reading(), reading()].into(), ..Told::default() };
    let mut watch = Metered::new(Box::new(told), exports.feed(), scope, place.clone());
    for _ in 0..2 {
        let observed = watch.read().expect("it tells");
        assert_eq!(observed.flows.len(), 1);
        assert!(observed.warnings[0].contains("snapshot counts no traffic"));
    }
    assert_eq!(watch.describe(), format!("told, {}", place.expect("it is served")));
    let page = exports.feed().exposition();
    let counted = |line: &&str| line.starts_with("portolan_flow_connection_count_total{");
    let counts: Vec<&str> = page.lines().filter(counted).collect();
    assert_eq!(counts.len(), 1, "{page}");
    assert!(counts[0].contains("server_port=\"1\"") && counts[0].ends_with(" 4"), "{page}");
    exports.stop();
}

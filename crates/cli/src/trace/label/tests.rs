use std::{net::IpAddr, sync::Arc};

use portolan_flow::{Namespace, Process, Totals};

use super::*;
use crate::trace::sample;

#[test]
fn an_end_has_a_name_an_address_and_a_place() {
    let mut client = sample::end("redis-cli", [10, 0, 0, 1]);
    assert_eq!(end(&client), "redis-cli @10.0.0.1");
    client.namespace = Some(Namespace::of(1, Some("blue")));
    assert_eq!(end(&client), "redis-cli @10.0.0.1 (netns:blue)");
    client.owner = Owner::Hidden { uid: 33 };
    assert_eq!(end(&client), "uid 33 @10.0.0.1 (netns:blue)");
    assert_eq!(end(&End::unobserved(IpAddr::from([10, 0, 0, 9]))), "10.0.0.9");
    let process = Process {
        name: "a\u{1b}[31m".to_owned(),
        unit: None,
        container: Some("0123456789abcdef".to_owned()),
    };
    client.owner = Owner::Process(Arc::new(process));
    let label = end(&client);
    assert!(label.contains("[0123456789ab] @") && !label.contains('\u{1b}'), "{label}");
}

#[test]
fn a_guess_is_marked() {
    let mut flow = sample::flow("a", "b", 6379, Totals::default());
    assert_eq!(port(&flow), "6379/tcp redis");
    flow.guessed = true;
    assert_eq!(port(&flow), "6379/tcp redis?");
}

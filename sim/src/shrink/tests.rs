use super::*;
use crate::{host::Kind, runner::keep_panics_quiet, scenario::generated};

/// A host that cannot be makes every scenario fail, whatever else is in it.
#[test]
fn only_what_makes_it_fail_is_left() {
    keep_panics_quiet();
    let mut scenario = generated(3);
    let mut seed = 3;
    while scenario.connections.len() < 3 || scenario.hosts[0].kind != Kind::Portolan {
        seed += 1;
        scenario = generated(seed);
    }
    scenario.hosts[0].mtu = 1;
    let (left, violation) =
        shrunk(&scenario, Duration::from_secs(20)).expect("no host has such an MTU");
    assert_eq!(violation.rule, "panic");
    assert_eq!(left.connections.len(), 1, "{left:?}");
    assert!(left.changes.is_empty(), "{left:?}");
    assert_eq!(left.links, [Settings::default(), Settings::default()]);
}

#[test]
fn what_does_not_fail_is_not_made_smaller() {
    assert_eq!(shrunk(&Scenario::default(), Duration::from_secs(1)), None);
}

use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use super::*;

fn host() -> Host {
    Host { ephemeral: 32_768..=60_999, reserved: Vec::new(), listening: Vec::new() }
}

fn options() -> PortsOptions {
    PortsOptions {
        connections: None,
        binds: None,
        range: None,
        strategies: vec![Strategy::Kernel],
        on_host: false,
        program: Program { path: PathBuf::new(), arguments: Vec::new() },
    }
}

#[test]
fn a_namespace_of_its_own_has_the_range_of_the_experiment() {
    let plan = options().plan(true, &host()).unwrap();
    assert_eq!((plan.connections, plan.binds, plan.range), (40_000, 40_000, 20_000..=60_000));
}

#[test]
fn the_host_keeps_some_of_its_ports() {
    let plan = options().plan(false, &host()).unwrap();
    assert_eq!((plan.connections, plan.range), (25_408, 32_768..=60_999));
    let asked = PortsOptions { connections: Some(28_000), ..options() };
    assert!(asked.plan(false, &host()).unwrap_err().to_string().contains("25408"));
    let other = PortsOptions { range: Some(20_000..=60_000), ..options() };
    assert!(other.plan(false, &host()).unwrap_err().to_string().contains("as root"));
}

#[test]
fn nothing_to_measure_is_refused() {
    let none = PortsOptions { connections: Some(0), binds: Some(0), ..options() };
    assert!(none.plan(true, &host()).is_err());
    let auto = PortsOptions { strategies: vec![Strategy::Auto], ..options() };
    assert!(auto.plan(true, &host()).is_err());
}

proptest! {
    #[test]
    fn every_part_has_ports_for_its_calls(
        first in 1_024_u16..20_000, more in 0_u16..45_000, spare in 0_u32..50, of in 1_u32..40,
    ) {
        let range = first..=first + more;
        let count = (u32::from(more) + 1).saturating_sub(spare);
        let parts: Vec<_> = (0..of).map(|nth| share(count, &range, nth, of)).collect();
        prop_assert_eq!(parts.iter().map(|(count, _)| count).sum::<u32>(), count);
        for (count, ports) in &parts {
            prop_assert!(ports.len() >= *count as usize, "{count} {ports:?}");
        }
        prop_assert!(parts.into_iter().flat_map(|(_, ports)| ports).eq(range));
    }
}

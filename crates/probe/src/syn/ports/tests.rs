use proptest::prelude::*;

use super::*;

fn blocks() -> impl Strategy<Value = Ports> {
    (0..=10_u32, any::<u16>()).prop_map(|(bits, first)| {
        let count = 1 << bits;
        Ports { first: first & !(count - 1), count }
    })
}

#[test]
fn the_last_block_of_all_ends_with_the_last_port() {
    let ports = Ports { first: 65_472, count: 64 };
    assert!(ports.contains(65_535) && !ports.contains(65_471) && !ports.contains(0));
    assert_eq!((ports.nth(63, 0), ports.nth(63, 1)), (65_535, 65_472));
}

proptest! {
    #[test]
    fn a_block_contains_its_ports_and_no_others(ports in blocks()) {
        let last = u32::from(ports.first) + u32::from(ports.count) - 1;
        for port in 0..=u16::MAX {
            let expected = port >= ports.first && u32::from(port) <= last;
            prop_assert_eq!(ports.contains(port), expected, "{}", port);
            prop_assert_eq!(port & ports.mask() == ports.first, expected);
        }
    }

    #[test]
    fn counting_on_from_any_number_reaches_each_port_once(ports in blocks(), start: u32) {
        let mut reached: Vec<u16> = (0..ports.count).map(|step| ports.nth(start, step)).collect();
        prop_assert_eq!(reached[0], ports.nth(start.wrapping_add(ports.count.into()), 0));
        reached.sort_unstable();
        let expected: Vec<u16> = (0..ports.count).map(|step| ports.first + step).collect();
        prop_assert_eq!(reached, expected);
    }
}

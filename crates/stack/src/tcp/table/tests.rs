use core::{cell::Cell, net::IpAddr};
use std::vec::Vec;

use super::*;
use crate::random::Keys;

/// Flows by number, and how often one was asked for.
struct Flows {
    flows: Vec<(Flow, u32)>,
    asked: Cell<usize>,
}

impl Flows {
    fn new(flows: impl IntoIterator<Item = Flow>) -> Self {
        let flows = flows.into_iter().map(|flow| (flow, NONE)).collect();
        Self { flows, asked: Cell::new(0) }
    }

    fn flow(&self, index: u32) -> Flow {
        self.flows[index as usize].0
    }

    /// How often flows are asked for by this.
    fn asked<T>(&mut self, action: impl FnOnce(&mut Self) -> T) -> (T, usize) {
        self.asked.set(0);
        let answer = action(self);
        (answer, self.asked.get())
    }
}

impl Entries for Flows {
    fn entry(&self, index: u32) -> Option<(&Flow, u32)> {
        let (flow, next) = self.flows.get(index as usize)?;
        self.asked.set(self.asked.get() + 1);
        Some((flow, *next))
    }
}

impl EntriesMut for Flows {
    fn set_next(&mut self, index: u32, next: u32) {
        self.flows[index as usize].1 = next;
    }
}

fn flow(number: u32) -> Flow {
    Flow {
        local: IpAddr::from([10, 0, 0, 1]),
        remote: IpAddr::from((0x0a02_0000 + number / 50_000).to_be_bytes()),
        local_port: 80,
        remote_port: (number % 50_000) as u16,
    }
}

fn key(byte: u8) -> Key {
    Keys::new([byte; 32]).table
}

fn filled(key: Key, flows: &mut Flows) -> Table {
    let mut table = Table::new(key);
    for index in 0..flows.flows.len() as u32 {
        let flow = flows.flow(index);
        assert!(table.insert(&flow, index, flows));
    }
    table
}

/// How many flows a search compares: on average, in thousandths, and at most.
fn compared(table: &Table, flows: &mut Flows) -> (usize, usize) {
    let (mut sum, mut most) = (0, 0);
    for index in 0..flows.flows.len() as u32 {
        let flow = flows.flow(index);
        let (found, asked) = flows.asked(|flows| table.find(&flow, flows));
        assert_eq!(found, Some(index));
        sum += asked;
        most = most.max(asked);
    }
    (sum * 1_000 / flows.flows.len(), most)
}

#[test]
fn finds_what_was_inserted_until_it_is_removed() {
    let mut flows = Flows::new((0..5_000).map(flow));
    let mut table = filled(key(1), &mut flows);
    assert_eq!(table.len(), 5_000);
    assert!(!table.insert(&flow(7), 8, &mut flows));
    assert_eq!(table.find(&flow(7), &flows), Some(7));
    assert_eq!(table.find(&flow(5_000), &flows), None);
    for index in (0..5_000_u32).filter(|index| index % 8 != 1) {
        assert_eq!(table.remove(&flow(index), &mut flows), Some(index));
        assert_eq!(table.remove(&flow(index), &mut flows), None);
    }
    for index in 0..5_000 {
        let expected = (index % 8 == 1).then_some(index);
        assert_eq!(table.find(&flow(index), &flows), expected);
    }
    assert_eq!(table.len(), 625);
    for index in (0..5_000_u32).filter(|index| index % 8 == 1) {
        assert_eq!(table.remove(&flow(index), &mut flows), Some(index));
    }
    assert!(table.is_empty());
    assert_eq!(table.find(&flow(1), &flows), None);
}

/// Flows of both versions, and those that differ in one part only, are different.
#[test]
fn every_part_of_the_flow_counts() {
    let one = flow(3);
    let mut flows = Flows::new([
        one,
        Flow { local: IpAddr::from([10, 0, 0, 2]), ..one },
        Flow { remote: IpAddr::from([10, 0, 0, 2]), ..one },
        Flow { local_port: 81, ..one },
        Flow { remote_port: 81, ..one },
        Flow {
            local: IpAddr::from([0, 0, 0, 0, 0, 0xffff, 0x0a00, 1]),
            remote: IpAddr::from([0, 0, 0, 0, 0, 0xffff, 0x0a00, 2]),
            ..one
        },
    ]);
    let table = filled(key(1), &mut flows);
    assert_eq!(table.len(), 6);
    assert!(compared(&table, &mut flows).1 <= 4);
}

/// Somebody who knows a key, and the key is another one: 200 flows that meet at one place.
#[test]
fn chosen_ports_do_not_meet_at_one_place() {
    let known = key(1);
    let place = |flow: &Flow| known.hash_hidden(flow.message().as_bytes()) & 0xfff;
    let target = place(&flow(0));
    let chosen = || Flows::new((0..).map(flow).filter(|flow| place(flow) == target).take(200));
    // With the key that they know, they would compare a lot.
    let mut flows = chosen();
    let (hurt, _) = compared(&filled(known, &mut flows), &mut flows);
    let mut flows = chosen();
    let (average, most) = compared(&filled(key(2), &mut flows), &mut flows);
    assert!(hurt > 50_000, "{hurt} thousandths: the attack works if the key is known");
    assert!(average < 1_800 && most <= 8, "{average} thousandths, at most {most}");
}

#[test]
fn searches_stay_short_in_a_table_of_any_size() {
    for count in [1_000, 16_384, 24_000, 50_000] {
        let mut flows = Flows::new((0..count).map(flow));
        let (average, most) = compared(&filled(key(3), &mut flows), &mut flows);
        assert!(average < 1_650 && most <= 10, "{count}: {average} thousandths, at most {most}");
    }
}

#[test]
fn an_entry_takes_less_than_5_bytes() {
    for count in [10_000, 14_336, 16_385, 50_000] {
        let mut flows = Flows::new((0..count).map(flow));
        let bytes = filled(key(1), &mut flows).allocation_size();
        assert!(bytes <= 5 * count as usize, "{bytes} bytes for {count} entries");
    }
}

#[test]
fn searching_allocates_nothing_and_churn_hardly_anything() {
    let mut flows = Flows::new((0..10_000).map(flow));
    let mut table = filled(key(1), &mut flows);
    let allocated = allocation_counter::measure(|| {
        for index in 0..10_000 {
            assert_eq!(table.find(&flow(index), &flows), Some(index));
        }
        for index in (0..10_000).chain(0..10_000) {
            table.remove(&flow(index), &mut flows);
            table.insert(&flow(index), index, &mut flows);
        }
    });
    assert_eq!(allocated.count_total, 0);
    // Up and down over the edge of a piece.
    let allocated = allocation_counter::measure(|| {
        for _ in 0..10 {
            for index in 0..9_000 {
                table.remove(&flow(index), &mut flows);
            }
            for index in 0..9_000 {
                table.insert(&flow(index), index, &mut flows);
            }
        }
    });
    assert!(allocated.count_total <= 10 * 10, "{}", allocated.count_total);
}

/// The table grows, connections come and go for long, and go at last: no single call looks at more
/// than a few flows, as it would where a table doubles or sorts itself anew.
#[test]
fn no_call_looks_at_many_flows() {
    let mut flows = Flows::new((0..100_000).map(flow));
    let mut table = Table::new(key(1));
    let mut most = 0;
    for index in 0..100_000 {
        let flow = flow(index);
        let (inserted, asked) = flows.asked(|flows| table.insert(&flow, index, flows));
        assert!(inserted);
        most = most.max(asked);
    }
    for number in 100_000..400_000_u32 {
        let index = number.wrapping_mul(7_919) % 100_000;
        let old = flows.flow(index);
        let (removed, asked) = flows.asked(|flows| table.remove(&old, flows));
        assert_eq!(removed, Some(index));
        most = most.max(asked);
        let new = flow(number);
        flows.flows[index as usize].0 = new;
        let (inserted, asked) = flows.asked(|flows| table.insert(&new, index, flows));
        assert!(inserted);
        most = most.max(asked);
    }
    for index in 0..100_000 {
        let old = flows.flow(index);
        let (removed, asked) = flows.asked(|flows| table.remove(&old, flows));
        assert_eq!(removed, Some(index));
        most = most.max(asked);
    }
    assert!(most < 40, "one call looked at {most} flows");
}

#[test]
fn gives_memory_back_by_itself() {
    let mut flows = Flows::new((0..50_000).map(flow));
    let mut table = filled(key(1), &mut flows);
    for index in 10..50_000 {
        table.remove(&flow(index), &mut flows);
    }
    assert!(table.allocation_size() < 20_000, "{}", table.allocation_size());
    for index in 0..10 {
        assert_eq!(table.find(&flow(index), &flows), Some(index));
    }
    assert!(!table.insert(&flow(3), 11, &mut flows));
}

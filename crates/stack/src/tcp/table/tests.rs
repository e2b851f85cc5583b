use core::{cell::Cell, net::IpAddr};
use std::{vec, vec::Vec};

use super::*;
use crate::random::Keys;

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

fn filled(key: Key, flows: &[Flow]) -> Table {
    let mut table = Table::new(key);
    for (index, flow) in flows.iter().enumerate() {
        assert!(table.insert(flow, index as u32, |index| &flows[index as usize]));
    }
    table
}

/// How many flows a search compares: on average, in thousandths, and at most.
fn compared(table: &Table, flows: &[Flow]) -> (usize, usize) {
    let count = Cell::new(0);
    let (mut sum, mut most) = (0, 0);
    for (index, flow) in flows.iter().enumerate() {
        count.set(0);
        let found = table.find(flow, |index| {
            count.set(count.get() + 1);
            &flows[index as usize]
        });
        assert_eq!(found, Some(index as u32));
        sum += count.get();
        most = most.max(count.get());
    }
    (sum * 1_000 / flows.len(), most)
}

#[test]
fn finds_what_was_inserted_until_it_is_removed() {
    let flows: Vec<Flow> = (0..1_000).map(flow).collect();
    let flow_of = |index: u32| flows[index as usize];
    let mut table = filled(key(1), &flows);
    assert_eq!(table.len(), 1_000);
    assert!(!table.insert(&flows[7], 8, flow_of));
    assert_eq!(table.find(&flows[7], flow_of), Some(7));
    assert_eq!(table.find(&flow(1_000), flow_of), None);
    for index in (0..1_000_u32).step_by(2) {
        assert_eq!(table.remove(&flow(index), flow_of), Some(index));
        assert_eq!(table.remove(&flow(index), flow_of), None);
    }
    for index in 0..1_000 {
        let expected = (index % 2 == 1).then_some(index);
        assert_eq!(table.find(&flow(index), flow_of), expected);
    }
    assert_eq!(table.len(), 500);
    assert!(!table.is_empty());
}

/// Flows of both versions, and those that differ in one part only, are different.
#[test]
fn every_part_of_the_flow_counts() {
    let one = flow(3);
    let flows = [
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
    ];
    assert_eq!(compared(&filled(key(1), &flows), &flows).1, 1);
}

/// Somebody who knows a key, and the key is another one: 2,000 flows that meet at one place.
#[test]
fn chosen_ports_do_not_meet_at_one_place() {
    let known = key(1);
    let place_and_tag = |flow: &Flow| {
        let hash = hash(&known, flow);
        (hash & 0xff, hash >> 60)
    };
    let target = place_and_tag(&flow(0));
    let chosen: Vec<Flow> =
        (0..).map(flow).filter(|flow| place_and_tag(flow) == target).take(200).collect();
    // With the key that they know, they would compare a lot.
    let (hurt, _) = compared(&filled(known, &chosen), &chosen);
    let (average, most) = compared(&filled(key(2), &chosen), &chosen);
    assert!(hurt > 2_000, "{hurt} thousandths: the attack works if the key is known");
    assert!(average < 1_100 && most <= 4, "{average} thousandths, at most {most}");
}

#[test]
fn searches_stay_short_in_a_large_table() {
    let flows: Vec<Flow> = (0..50_000).map(flow).collect();
    let (average, most) = compared(&filled(key(3), &flows), &flows);
    assert!(average < 1_150 && most <= 6, "{average} thousandths, at most {most}");
}

#[test]
fn an_entry_takes_less_than_12_bytes() {
    for count in [10_000, 14_336, 14_337, 50_000] {
        let flows: Vec<Flow> = (0..count).map(flow).collect();
        let table = filled(key(1), &flows);
        let bytes = table.entries.allocation_size();
        assert!(bytes <= flows.len() * 12, "{bytes} bytes for {count} entries");
        assert!(bytes >= flows.len() * 5);
    }
}

#[test]
fn searching_and_reserved_inserting_allocate_nothing() {
    let flows: Vec<Flow> = (0..10_000).map(flow).collect();
    let flow_of = |index: u32| &flows[index as usize];
    let mut table = Table::with_capacity(key(1), flows.len());
    let allocated = allocation_counter::measure(|| {
        for _ in 0..2 {
            for (index, flow) in flows.iter().enumerate() {
                table.insert(flow, index as u32, flow_of);
            }
            for flow in &flows {
                table.find(flow, flow_of);
                table.remove(flow, flow_of);
            }
        }
    });
    assert_eq!(allocated.count_total, 0);
}

/// Connections come and go for long: with the room for twice as many, removed entries neither make
/// the table grow nor make it sort itself anew.
#[test]
fn churn_moves_nothing_in_a_table_with_room() {
    let mut flows = vec![flow(0); 1_000];
    let mut table = Table::with_capacity(key(1), 2_000);
    let bytes = table.entries.allocation_size();
    let mut most = 0;
    for number in 0..50_000 {
        let index = number % 1_000;
        let old = flows[index as usize];
        if number >= 1_000 {
            assert_eq!(table.remove(&old, |index| flows[index as usize]), Some(index));
        }
        flows[index as usize] = flow(number);
        let asked = Cell::new(0);
        assert!(table.insert(&flow(number), index, |index| {
            asked.set(asked.get() + 1);
            flows[index as usize]
        }));
        most = most.max(asked.get());
    }
    assert!(most < 6, "one insertion looked at {most} flows");
    assert_eq!((table.len(), table.entries.allocation_size()), (1_000, bytes));
}

#[test]
fn gives_memory_back_only_when_asked() {
    let flows: Vec<Flow> = (0..10_000).map(flow).collect();
    let flow_of = |index: u32| flows[index as usize];
    let mut table = filled(key(1), &flows);
    let bytes = table.entries.allocation_size();
    for flow in &flows[10..] {
        table.remove(flow, flow_of);
    }
    assert_eq!(table.entries.allocation_size(), bytes);
    table.shrink(flow_of);
    assert!(table.capacity() < 100);
    for (index, flow) in flows[..10].iter().enumerate() {
        assert_eq!(table.find(flow, flow_of), Some(index as u32));
    }
}

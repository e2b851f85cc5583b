use core::net::Ipv4Addr;
use std::vec;

use proptest::prelude::*;

use super::*;
use crate::ip::carrier::Cast;

fn carrier(source: u32) -> Carrier<'static> {
    Carrier {
        source: Ipv4Addr::from_bits(source).into(),
        destination: Ipv4Addr::new(192, 0, 2, 1).into(),
        traffic_class: 2,
        cast: Cast::Unicast,
        is_link_unicast: true,
        packet: &[0x45; 40],
        header_len: 20,
    }
}

fn part(identification: u32, offset: u16, more: bool, payload: &[u8]) -> Part<'_> {
    Part { identification, protocol: 17, offset, more, payload }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// In whatever order, and with whatever copies, the whole is what was cut.
    #[test]
    fn any_order_gives_the_whole(
        words in 1..100_usize,
        cuts in proptest::collection::btree_set(1..100_usize, 0..20),
        order in proptest::collection::vec(any::<usize>(), 40),
    ) {
        let data: Vec<u8> = (0..words * 8 + 3).map(|at| at as u8).collect();
        let mut ends: Vec<usize> =
            cuts.into_iter().filter(|cut| *cut < words).map(|cut| cut * 8).collect();
        ends.push(data.len());
        let mut parts = Vec::new();
        let mut start = 0;
        for end in ends {
            parts.push((start, end));
            start = end;
        }
        let mut reassembly = Reassembly::new(1 << 20);
        let now = Instant::from_micros(1);
        let mut left = parts.clone();
        let mut whole = None;
        for pick in order {
            // Copies of what came, and of what is still to come.
            let (start, end) = if pick % 3 == 0 || left.is_empty() {
                parts[pick % parts.len()]
            } else {
                left.remove(pick % left.len())
            };
            left.retain(|part| *part != (start, end));
            let more = end < data.len();
            let offset = u16::try_from(start).unwrap();
            let part = part(1, offset, more, &data[start..end]);
            match reassembly.insert(&carrier(1), &part, now) {
                Ok(Some(joined)) => {
                    whole = Some(joined);
                    break;
                }
                Ok(None) | Err(Dropped::FragmentDuplicate) => {}
                Err(reason) => prop_assert!(false, "{reason:?}"),
            }
        }
        if let Some(whole) = whole {
            prop_assert_eq!(whole.data, data);
            prop_assert_eq!(whole.head, vec![0x45; 40]);
            prop_assert_eq!(reassembly.bytes(), 0);
            prop_assert_eq!(reassembly.deadline(), None);
        } else {
            prop_assert!(!left.is_empty());
        }
    }

    /// The bound of memory holds, and what is counted is what is there.
    #[test]
    fn memory_is_counted(parts in proptest::collection::vec(
        (0..40_u32, 0..6_u32, 0..300_u16, any::<bool>(), 0..40_usize, 0..60_000_000_u64), 0..300),
    ) {
        let mut reassembly = Reassembly::new(20_000);
        let mut now = Instant::from_micros(1);
        for (source, identification, offset, more, words, pause) in parts {
            let payload = vec![7; words * 8];
            let part = part(identification, offset * 8, more, &payload);
            let _ = reassembly.insert(&carrier(source), &part, now);
            let cost: usize = reassembly.datagrams.iter().map(Datagram::cost).sum();
            prop_assert_eq!(reassembly.bytes(), cost);
            prop_assert!(cost <= 20_000);
            prop_assert!(reassembly.datagrams.len() <= DATAGRAMS_MAX);
            if pause > 59_000_000 {
                now += Duration::from_secs(20);
            }
            while reassembly.expire(now).is_some() {}
            prop_assert!(reassembly.deadline().is_none_or(|at| at > now));
        }
    }
}

/// CVE-2018-5390, CVE-2018-5391: the work for a fragment does not grow with those before it.
/// RFC 1122, section 3.3.2.
#[test]
fn no_fragment_costs_more_than_the_bound() {
    let mut reassembly = Reassembly::new(4 << 20);
    let now = Instant::from_micros(1);
    let mut most = 0;
    for round in 0..200_000_u32 {
        // In an order in which each is put before all the others.
        let offset = u16::try_from(8_000 - round % 8_000).unwrap();
        let source = round % 7;
        let before = reassembly.steps;
        let _ =
            reassembly.insert(&carrier(source), &part(round / 128, offset * 8, true, &[0; 8]), now);
        most = most.max(reassembly.steps - before);
    }
    // Found, counted twice, one given up, placed.
    let bound = DATAGRAMS_MAX * 4 + PIECES_MAX + 16;
    assert!(most <= bound as u64, "{most} steps");
}

#[test]
fn congestion_that_one_fragment_met_the_whole_met() {
    for met in 0..2 {
        let mut reassembly = Reassembly::new(1 << 20);
        let mut whole = None;
        for (at, offset) in [8, 0].into_iter().enumerate() {
            let traffic_class = if at == met { 3 } else { 2 };
            let carrier = Carrier { traffic_class, ..carrier(1) };
            let part = part(1, offset, offset == 0, &[0; 8]);
            whole = reassembly.insert(&carrier, &part, Instant::ZERO).expect("it is right");
        }
        assert_eq!(whole.expect("both came").carrier.traffic_class, 3);
    }
}

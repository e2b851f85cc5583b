use proptest::prelude::*;

use super::{PortSet, PortsProblem, TOP};

fn services(name: &str) -> Option<u16> {
    match name {
        "http" => Some(80),
        "https" => Some(443),
        "http-alt" => Some(8080),
        "zero" => Some(0),
        _ => None,
    }
}

fn shown(text: &str) -> String {
    PortSet::parse(text, &services).unwrap_or_else(|error| panic!("{error}")).to_string()
}

fn problem(text: &str) -> PortsProblem {
    PortSet::parse(text, &services).expect_err(text).problem
}

#[test]
fn numbers_ranges_and_services_are_read() {
    assert_eq!(shown("22,80,8000-8100"), "22,80,8000-8100");
    assert_eq!(shown("http,https,http-alt"), "80,443,8080");
    assert_eq!(shown(" 80 , 22 "), "22,80");
    assert_eq!(shown("-"), "1-65535");
    assert_eq!(shown("-1024"), "1-1024");
    assert_eq!(shown("60000-"), "60000-65535");
    assert_eq!(shown("T:80,t:443,T:http-alt"), "80,443,8080");
    assert_eq!(PortSet::parse("-", &services).unwrap(), PortSet::all());
}

#[test]
fn a_port_is_there_once_however_often_it_was_named() {
    let set = PortSet::parse("80,http,79-81,80", &services).unwrap();
    assert_eq!(set.iter().collect::<Vec<_>>(), [79, 80, 81]);
    assert_eq!((set.len(), set.get(1), set.get(3)), (3, Some(80), None));
    assert!(set.contains(81) && !set.contains(82));
}

#[test]
fn what_is_no_port_is_refused() {
    assert_eq!(problem("0"), PortsProblem::Zero);
    assert_eq!(problem("0-80"), PortsProblem::Zero);
    assert_eq!(problem("zero"), PortsProblem::Service("\"zero\"".to_owned()));
    assert_eq!(problem("65536"), PortsProblem::TooHigh("\"65536\"".to_owned()));
    assert_eq!(problem("1-99999999999"), PortsProblem::TooHigh("\"99999999999\"".to_owned()));
    assert_eq!(problem("90-80"), PortsProblem::Reversed { first: 90, last: 80 });
    for text in ["", "80,", ",80", "80,,443", "T:"] {
        assert_eq!(problem(text), PortsProblem::Empty, "{text}");
    }
    for text in ["gopher", "80-http", "+80", "8 0", "1-2-3", "--", "80:443", "http*"] {
        assert!(matches!(problem(text), PortsProblem::Service(_)), "{text}");
    }
}

#[test]
fn other_protocols_are_refused_with_the_reason() {
    assert_eq!(problem("T:80,U:53"), PortsProblem::Protocol('U'));
    assert_eq!(
        PortSet::parse("U:53", &services).unwrap_err().to_string(),
        "ports \"U:53\": U: asks for another protocol than TCP, and only TCP is probed; leave it \
         out"
    );
}

#[test]
fn the_most_common_are_those_of_the_list() {
    assert_eq!(PortSet::top(3).unwrap().iter().collect::<Vec<_>>(), [22, 80, 443]);
    assert_eq!(PortSet::top(TOP.len()).unwrap().len(), TOP.len());
    let error = PortSet::top(TOP.len() + 1).unwrap_err();
    assert_eq!(error.problem, PortsProblem::Top { known: TOP.len() });
    let expected = format!(
        "ports \"{}\": the list of the most common ports has {known}; write a number \
         from 1 to {known}",
        TOP.len() + 1,
        known = TOP.len(),
    );
    assert_eq!(error.to_string(), expected);
    assert!(PortSet::top(0).is_err());
}

proptest! {
    #[test]
    fn a_printed_set_reads_as_itself(ranges in prop::collection::vec(
        (1..=u16::MAX, 0_u16..300), 1..20,
    )) {
        let items: Vec<String> = ranges
            .iter()
            .map(|(first, more)| format!("{first}-{}", first.saturating_add(*more)))
            .collect();
        let set = PortSet::parse(&items.join(","), &services).unwrap();
        for port in set.iter() {
            let wanted = |(first, more): &(u16, u16)| {
                (*first..=first.saturating_add(*more)).contains(&port)
            };
            prop_assert!(ranges.iter().any(wanted));
        }
        prop_assert!(ranges.iter().all(|(first, _)| set.contains(*first)));
        prop_assert_eq!(PortSet::parse(&set.to_string(), &services), Ok(set));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[0-9,:TU -]{0,20}|\\PC*") {
        if let Ok(set) = PortSet::parse(&text, &services) {
            prop_assert!(set.len() > 0 && !set.contains(0));
        }
    }
}

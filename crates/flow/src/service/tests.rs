use std::collections::BTreeSet;

use super::*;

#[test]
fn the_table_is_in_order_and_names_each_port_and_service_once() {
    assert!(SERVICES.is_sorted_by(|(a, ..), (b, ..)| a < b));
    let names: BTreeSet<_> = SERVICES.iter().map(|(_, _, name)| name).collect();
    assert_eq!(names.len(), SERVICES.len());
}

#[test]
fn every_name_leads_back_to_its_port() {
    for &(port, udp_too, name) in SERVICES {
        assert_eq!(service_name(Transport::Tcp, port), Some(name));
        assert_eq!(service_name(Transport::Udp, port), udp_too.then_some(name));
        assert_eq!(service_port(name), Some(port));
    }
}

#[test]
fn what_is_not_known_has_no_name() {
    assert_eq!(service_name(Transport::Tcp, 0), None);
    assert_eq!(service_name(Transport::Tcp, 65535), None);
    assert_eq!(service_port("gopher"), None);
}

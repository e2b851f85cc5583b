use super::*;

fn edge(port: u16, transport: &str, namespace: &str, sides: &str) -> String {
    format!(
        "{{\"type\":\"edge\",\"client_address\":\"127.0.0.1\",\"server_address\":\"127.0.0.1\",\
         \"server_port\":{port},\"network_transport\":\"{transport}\",\
         \"client_namespace\":\"{namespace}\",\"server_namespace\":null{sides}}}\n"
    )
}

fn active(opened: u64, datagrams: u64) -> String {
    format!(",\"active\":{{\"opened\":{opened},\"datagrams_sent\":{datagrams},\"new\":1}}")
}

fn summary(overflow: u64, losses: &str) -> String {
    format!(
        "{{\"type\":\"summary\",\"overflow\":{{\"opened\":{overflow}}},\"losses\":{{{losses}}}}}\n"
    )
}

fn read(text: &str) -> Said {
    Said::read(text.as_bytes(), 2, true).unwrap()
}

#[test]
fn one_end_is_added_up_over_all_intervals() {
    let both = edge(5_000, "tcp", "host", &active(10, 0)) + &summary(0, "");
    let said = read(&(both.clone() + &both + &edge(5_001, "tcp", "host", &active(3, 0))));
    assert_eq!((said.edges, said.opened, said.has_sides), (2, 23, true));
    assert!(said.agrees(said.opened, 23) && !said.agrees(said.opened, 24));
    assert_eq!(said.describe_losses(), None);
}

#[test]
fn what_others_do_is_left_out() {
    let text = edge(5_002, "tcp", "host", &active(1, 0))
        + &edge(5_000, "udp", "host", &active(1, 1))
        + &edge(5_000, "tcp", "netns:4026532177", &active(1, 0))
        + "{\"type\":\"later\",\"x\":1}\n";
    assert_eq!(read(&text), Said::default());
    let udp = Said::read(edge(5_000, "udp", "host", &active(0, 9)).as_bytes(), 1, false).unwrap();
    assert_eq!(udp.datagrams_sent, 9);
}

#[test]
fn losses_and_overflow_are_how_much_may_be_missing() {
    let text = edge(5_000, "tcp", "host", &active(90, 0))
        + &summary(1, "\"untracked\":3,\"missed\":0")
        + &summary(0, "\"untracked\":2,\"missed\":1");
    let said = read(&text);
    assert_eq!(said.lost(), 6);
    assert!(said.agrees(90, 97) && !said.agrees(90, 98) && said.agrees(97, 90));
    assert_eq!(said.describe_losses().unwrap(), "missed 1, untracked 5");
}

#[test]
fn without_counts_of_each_end_nothing_is_checked() {
    assert!(!read(&edge(5_000, "tcp", "host", "")).has_sides);
    assert!(Said::read(b"no JSON", 1, true).is_err());
}

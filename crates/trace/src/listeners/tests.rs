use super::*;

fn listeners(all: &[(&str, u16)]) -> Listeners {
    let mut listeners = Listeners::new();
    for (at, (address, port)) in all.iter().enumerate() {
        let address = address.parse().expect("an address");
        let listener = Listener { name: Name::default(), pid: u32::try_from(at).expect("few") };
        listeners.all.insert(Listening { netns: 1, port: *port, address }, listener);
    }
    listeners
}

fn accepting(listeners: &Listeners, netns: u32, address: &str, port: u16) -> Option<u32> {
    let address = address.parse().expect("an address");
    listeners.accepting(netns, address, port).map(|listener| listener.pid)
}

#[test]
fn the_exact_address_comes_before_all_addresses() {
    let all = listeners(&[("0.0.0.0", 80), ("127.0.0.1", 80), ("::", 81), ("::1", 82)]);
    assert_eq!(accepting(&all, 1, "127.0.0.1", 80), Some(1));
    assert_eq!(accepting(&all, 1, "10.0.0.1", 80), Some(0));
    assert_eq!(accepting(&all, 1, "10.0.0.1", 81), Some(2), "IPv6 takes both");
    assert_eq!(accepting(&all, 1, "::2", 81), Some(2));
    assert_eq!(accepting(&all, 1, "::2", 80), None, "IPv4 does not");
    assert_eq!(accepting(&all, 1, "::2", 82), None);
    assert_eq!(accepting(&all, 2, "127.0.0.1", 80), None, "another namespace");
}

#[test]
fn who_is_not_known_is_looked_for() {
    assert!(listeners(&[("::", 80)]).has_nameless());
    assert!(!listeners(&[]).has_nameless());
}

use proptest::prelude::*;

use super::*;
use crate::sample::{container, flow, hidden, local, process, remote, unit, within};

fn users() -> Users {
    Users::new(|uid| (uid == 70).then(|| "postgres".to_owned()))
}

fn client(end: End) -> Identity {
    client_of(&flow(end, process("any", "127.0.0.1"), 80), &users())
}

fn server(end: End) -> Identity {
    server_of(&flow(process("any", "127.0.0.1"), end, 5432), &users())
}

#[test]
fn a_container_is_named_by_twelve_digits_of_its_id() {
    let id = "0123456789abcdef0123456789abcdef";
    let seen = client(container("redis", id, "172.17.0.2"));
    assert_eq!((&*seen.id, &*seen.name), ("container:0123456789ab", "0123456789ab"));
    assert_eq!(seen.kind, Kind::Container);
    assert_eq!(seen.container.as_deref(), Some(id));
}

#[test]
fn a_container_is_the_same_in_any_namespace() {
    let end = container("redis", "0123456789abcdef", "172.17.0.2");
    assert_eq!(client(end.clone()).id, client(within("netns:blue", end)).id);
}

#[test]
fn a_service_is_a_unit() {
    let seen = server(unit("postgres", "postgresql@15-main.service", "127.0.0.1"));
    assert_eq!(&*seen.id, "unit:postgresql@15-main.service");
    assert_eq!((seen.kind, &*seen.name), (Kind::Unit, "postgresql@15-main"));
}

#[test]
fn a_session_is_not_a_unit_but_its_process() {
    for name in ["session-3.scope", "user@1000.service"] {
        let seen = client(unit("psql", name, "127.0.0.1"));
        assert_eq!((&*seen.id, seen.kind), ("process:psql", Kind::Process), "{name}");
        assert_eq!(seen.unit.as_deref(), Some(name));
    }
}

#[test]
fn another_namespace_is_in_the_id() {
    let blue = |end| within("netns:blue", end);
    assert_eq!(&*client(blue(process("nginx", "10.0.0.1"))).id, "process:nginx@netns:blue");
    let seen = client(blue(unit("nginx", "nginx.service", "10.0.0.1")));
    assert_eq!(&*seen.id, "unit:nginx.service@netns:blue");
    assert_eq!(seen.namespace.as_deref(), Some("netns:blue"));
    assert_eq!(&*client(blue(hidden(70, "10.0.0.1"))).id, "user:postgres@netns:blue");
}

#[test]
fn what_is_hidden_is_a_user_who_asks_and_an_address_that_answers() {
    let seen = client(hidden(70, "127.0.0.1"));
    assert_eq!((&*seen.id, seen.kind), ("user:postgres", Kind::User));
    assert_eq!(seen.user.as_deref(), Some("postgres"));
    assert_eq!(&*client(hidden(71, "127.0.0.1")).id, "user:71");

    let seen = server(hidden(70, "10.0.0.1"));
    assert_eq!((&*seen.id, &*seen.name), ("address:10.0.0.1:5432", "10.0.0.1:5432"));
    assert_eq!((seen.kind, seen.user.as_deref()), (Kind::Address, Some("postgres")));
    assert_eq!(&*server(hidden(70, "::1")).id, "address:[::1]:5432");
    let elsewhere = server(within("netns:blue", hidden(70, "127.0.0.1")));
    assert_eq!(&*elsewhere.id, "address:127.0.0.1:5432@netns:blue");
}

#[test]
fn what_nobody_saw_is_an_address() {
    let seen = server(remote("192.0.2.7"));
    assert_eq!((&*seen.id, &*seen.name), ("address:192.0.2.7", "192.0.2.7"));
    assert_eq!(seen.namespace, None);
    let seen = client(local("127.0.0.1"));
    assert_eq!((&*seen.id, &*seen.name), ("address:127.0.0.1", "127.0.0.1 (process unknown)"));
}

#[test]
fn an_unobserved_loopback_end_is_in_the_namespace_of_the_other_one() {
    let there = within("netns:blue", process("nginx", "127.0.0.1"));
    let seen = client_of(&flow(remote("127.0.0.1"), there.clone(), 80), &users());
    assert_eq!(&*seen.id, "address:127.0.0.1@netns:blue");
    let seen = client_of(&flow(remote("192.0.2.7"), there, 80), &users());
    assert_eq!(&*seen.id, "address:192.0.2.7");
}

#[test]
fn printable_text_has_no_control_characters() {
    assert_eq!(printable("nginx"), "nginx");
    assert_eq!(printable("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\\u{a}");
    assert_eq!(printable("\u{202e}x"), "\\u{202e}x");
    // They change the direction of what follows, or make two names that look the same.
    for c in "\u{61c}\u{200b}\u{200d}\u{200e}\u{200f}\u{2060}\u{2064}\u{2069}\u{feff}".chars() {
        assert_eq!(printable(&format!("a{c}b")), format!("a{}b", c.escape_unicode()));
    }
    assert_eq!(printable("naïve-日本語-\u{1f980}"), "naïve-日本語-\u{1f980}");
}

proptest! {
    #[test]
    fn printable_text_stays_printable(text in any::<String>()) {
        let once = printable(&text);
        prop_assert!(!once.contains(is_control));
        prop_assert_eq!(printable(&once), once.as_ref());
    }
}

use proptest::prelude::*;

use super::*;
use crate::{
    Limits, Live, Users,
    sample::{container, flow, hidden, listener, process, reading, remote, take, unit, within},
};

const CONTAINER: &str = "c0ffee456789abcdef";

fn graph() -> Graph {
    let postgres = || unit("postgres", "postgresql@15-main.service", "127.0.0.1");
    let flows = vec![
        flow(process("psql", "127.0.0.1"), postgres(), 5432),
        flow(container("redis-cli", CONTAINER, "172.17.0.2"), remote("192.0.2.7"), 6379),
        flow(process("curl", "10.0.0.1"), remote("2001:db8::7"), 443),
        flow(process("curl", "127.0.0.1"), hidden(70, "127.0.0.1"), 8080),
        flow(within("netns:blue", process("curl", "10.0.0.2")), remote("192.0.2.7"), 80),
    ];
    let listeners = vec![
        listener(postgres(), 5432),
        listener(unit("sshd", "ssh.service", "0.0.0.0"), 22),
        listener(unit("sshd", "ssh.service", "::"), 22),
    ];
    let users = Users::new(|uid| (uid == 70).then(|| "Tomcat".to_owned()));
    let mut live = Live::new("h", 1_000, Limits::default(), users);
    take(&mut live, reading(flows, listeners), 1_000);
    live.graph(0)()
}

fn ids(of: &str) -> (Vec<String>, Option<u16>) {
    let graph = graph();
    match graph.select(of) {
        Ok(selection) => {
            let ids = selection.nodes.iter().map(|&at| graph.nodes()[at].id.to_string());
            (ids.collect(), selection.port)
        }
        Err(error) => panic!("{of}: {error}"),
    }
}

#[track_caller]
fn selects(of: &str, wanted: &[&str], port: Option<u16>) {
    assert_eq!(ids(of), (wanted.iter().map(|&id| id.to_owned()).collect(), port), "{of}");
}

const POSTGRES: &str = "unit:postgresql@15-main.service";

#[test]
fn by_node_id() {
    selects(POSTGRES, &[POSTGRES], None);
    selects("address:192.0.2.7", &["address:192.0.2.7"], None);
}

#[test]
fn by_name_in_any_case() {
    selects("postgresql@15-main", &[POSTGRES], None);
    selects("PostgreSQL@15-Main.Service", &[POSTGRES], None);
    selects("postgres", &[POSTGRES], None);
    selects("curl", &["process:curl", "process:curl@netns:blue"], None);
    selects("sshd", &["unit:ssh.service"], None);
    selects("tomcat", &["address:127.0.0.1:8080"], None);
}

#[test]
fn by_the_beginning_of_a_container_id() {
    for of in ["c0ff", "c0ffee456789", "C0FFEE", CONTAINER] {
        selects(of, &["container:c0ffee456789"], None);
    }
}

#[test]
fn by_the_name_of_a_service() {
    selects("postgresql", &[POSTGRES], Some(5432));
    selects("redis", &["address:192.0.2.7"], Some(6379));
    // A unit of that name comes before the port of that name.
    selects("ssh", &["unit:ssh.service"], None);
}

#[test]
fn by_address_and_port() {
    selects("192.0.2.7", &["address:192.0.2.7"], None);
    selects("2001:DB8::7", &["address:2001:db8::7"], None);
    selects("[2001:db8::7]", &["address:2001:db8::7"], None);
    selects("[2001:db8::7]:443", &["address:2001:db8::7"], Some(443));
    selects("::ffff:192.0.2.7", &["address:192.0.2.7"], None);
    selects(":5432", &[POSTGRES], Some(5432));
    selects("127.0.0.1:5432", &[POSTGRES], Some(5432));
    selects("192.0.2.7:6379", &["address:192.0.2.7"], Some(6379));
    selects("127.0.0.1:8080", &["address:127.0.0.1:8080"], Some(8080));
    // A listener on all addresses answers on loopback.
    selects("127.0.0.1:22", &["unit:ssh.service"], Some(22));
    selects("[::1]:22", &["unit:ssh.service"], Some(22));
    selects(" :22 ", &["unit:ssh.service"], Some(22));
}

#[test]
fn what_only_resembles_is_suggested() {
    let error = graph().select("postgre").expect_err("not exact");
    assert_eq!(error.suggestions, ["postgresql@15-main"]);
    assert!(error.to_string().contains("did you mean postgresql@15-main?"), "{error}");
}

#[test]
fn what_nothing_resembles_is_said() {
    for of in ["nosuch", ":1", "127.0.0.1:1", "198.51.100.1", "", "  ", ":99999"] {
        let error = graph().select(of).expect_err("nothing is called that");
        assert!(error.suggestions.is_empty(), "{of}: {error}");
        assert!(error.to_string().contains("ADDRESS:PORT"), "{error}");
    }
    let error = graph().select("\u{1b}[2J").expect_err("nothing is called that");
    assert!(!error.to_string().contains('\u{1b}'));
}

proptest! {
    #[test]
    fn nothing_that_is_typed_breaks_it(of in any::<String>()) {
        if let Ok(selection) = graph().select(&of) {
            prop_assert!(!selection.nodes.is_empty());
        }
    }
}

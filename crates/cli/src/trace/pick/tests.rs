use std::sync::Arc;

use portolan_flow::{Namespace, Process, Totals};

use super::*;
use crate::trace::sample::{flow, opened};

fn with_unit(mut flow: Flow) -> Flow {
    let container = "0123456789abcdef".repeat(4);
    flow.server.owner = Owner::Process(Arc::new(Process {
        name: "postgres".to_owned(),
        unit: Some("postgresql@15-main.service".to_owned()),
        container: Some(container),
    }));
    flow
}

#[test]
fn words_are_found_in_names_addresses_and_the_port() {
    let flow = with_unit(flow("psql", "postgres", 5432, opened(1)));
    let found = [
        "",
        "  ",
        "psql",
        "PSQL",
        "10.0.0.2:5432",
        "5432/tcp",
        "postgresql",
        "15-main",
        "0123456789ab",
        "psql 5432",
        "10.0.0.1 postgres",
        "host",
    ];
    for words in found {
        assert!(has_words(&flow, words), "{words}");
    }
    for words in ["mysql", "psql 3306", "5432/udp"] {
        assert!(!has_words(&flow, words), "{words}");
    }
}

#[test]
fn users_are_found_where_processes_may_not_be_seen() {
    let mut flow = flow("psql", "postgres", 5432, opened(1));
    flow.client.owner = Owner::Hidden { uid: 1000 };
    assert!(has_words(&flow, "uid 1000") && !has_words(&flow, "psql"));
}

#[test]
fn a_process_is_asked_for_by_its_whole_name() {
    let flow = with_unit(flow("psql", "postgres", 5432, opened(1)));
    let wants =
        |name: &str| Pick { process: Some(name.to_owned()), ..Pick::default() }.wants(&flow);
    for name in ["psql", "postgres", "postgresql@15-main.service", "0123456789ab"] {
        assert!(wants(name), "{name}");
    }
    assert!(wants(&"0123456789abcdef".repeat(4)));
    for name in ["psq", "postgresql", "0123456", "host"] {
        assert!(!wants(name), "{name}");
    }
}

#[test]
fn ports_and_failures() {
    let fine = flow("psql", "postgres", 5432, opened(1));
    let refused = flow("psql", "postgres", 5433, Totals { refused: 1, ..Totals::default() });
    let by_port = Pick { port: Some(5432), ..Pick::default() };
    assert!(by_port.wants(&fine) && !by_port.wants(&refused));
    let failed = Pick { failed: true, ..Pick::default() };
    assert!(!failed.wants(&fine) && failed.wants(&refused));
}

#[test]
fn the_scope_is_a_namespace_and_a_transport() {
    let mut flow = flow("psql", "postgres", 5432, opened(1));
    let own = Scope { own_namespace: true, transport: Some(Transport::Tcp) };
    assert!(own.has(&flow));
    flow.client.namespace = Some(Namespace::of(4_026_532_000, None));
    assert!(own.has(&flow), "the server is here");
    flow.server.namespace = None;
    assert!(!own.has(&flow) && Scope::default().has(&flow));
    assert!(!Scope { transport: Some(Transport::Udp), ..Scope::default() }.has(&flow));
}

use clap::Parser;
use portolan_flow::Transport;
use portolan_sockets::{Place, Row, State};

use super::*;
use crate::sockets::{SocketsArgs, config::Config, lines::Lines};

#[derive(Parser)]
#[command(disable_help_flag = true)]
struct Only {
    #[command(flatten)]
    sockets: SocketsArgs,
}

fn written(flags: &str, row: &Row) -> String {
    let words = std::iter::once("sockets").chain(flags.split_whitespace());
    let config = Config::check(&Only::parse_from(words).sockets).expect("valid");
    let listed = Listed { row, place: &Place::here(), holder: None };
    let mut out = Vec::new();
    Lines::new(&config.layout).row(&listed, &mut out);
    String::from_utf8(out).expect("text").trim_end().to_owned()
}

fn established() -> Row {
    Row {
        transport: Transport::Tcp,
        state: State::Established,
        local: "127.0.0.1:5432".parse().expect("an address"),
        remote: "127.0.0.1:40000".parse().expect("an address"),
        interface: 0,
        only_v6: None,
        receive_queue: 1,
        send_queue: 2,
        uid: 33,
        inode: 4711,
        cookie: 31,
        retransmits: 0,
        timer: 0,
        expires_ms: 0,
        tcp: Some(TcpInfo { rtt_us: 7, bytes_sent: Some(9), ..TcpInfo::default() }),
        memory: Some(SocketMemory { drops: Some(4), ..SocketMemory::default() }),
    }
}

/// Another test vector of docs/formats/socket.md.
#[test]
fn measurements_and_memory_are_objects_where_they_were_asked_for() {
    let usual = "{\"version\":1,\"network_transport\":\"tcp\",\"state\":\"ESTAB\",\
        \"receive_queue\":1,\"send_queue\":2,\"local_address\":\"127.0.0.1\",\
        \"local_port\":5432,\"peer_address\":\"127.0.0.1\",\"peer_port\":40000,\"uid\":33,\
        \"inode\":4711,\"cookie\":31,\"namespace\":\"host\"";
    let memory = ",\"memory\":{\"receive_queue_bytes\":0,\"receive_limit_bytes\":0,\
        \"send_queue_bytes\":0,\"send_limit_bytes\":0,\"handed_down_bytes\":0,\
        \"reserved_bytes\":0,\"option_bytes\":0,\"backlog_bytes\":null,\"drops\":4}";
    let info = ",\"tcp_info\":{\"rtt_us\":7,\"rtt_variation_us\":0,\"rtt_min_us\":null,\
        \"retransmit_timeout_us\":0,\"send_mss\":0,\"receive_mss\":0,\"path_mtu\":0,\
        \"congestion_window\":0,\"slow_start_threshold\":0,\"retransmits_total\":0,\
        \"lost\":0,\"bytes_sent\":9,\"bytes_acked\":null,\"bytes_received\":null,\
        \"bytes_retransmitted\":null,\"delivery_rate\":null}";
    let row = established();
    assert_eq!(written("-t --json", &row), format!("{usual}}}"));
    assert_eq!(written("-tim --json", &row), format!("{usual}{memory}{info}}}"));
    assert_eq!(written("-t --json --sort rtt", &row), format!("{usual}}}"), "not shown");
}

#[test]
fn chosen_columns_are_the_only_fields() {
    // The first interface of every network namespace.
    let row = Row { interface: 1, ..established() };
    let written = |columns: &str| written(&format!("--json --columns {columns}"), &row);
    let expected = "{\"version\":1,\"state\":\"ESTAB\",\"local_port\":5432,\"interface\":\"lo\",\
        \"interface_index\":1}";
    assert_eq!(written("interface,local-port,state"), expected);
    assert!(written("local").contains("\"interface\":\"lo\",\"interface_index\":1"));
    assert!(!written("local-address").contains("interface"));
    let expected = "{\"version\":1,\"peer_address\":\"127.0.0.1\",\"peer_port\":40000,\
        \"process\":null}";
    assert_eq!(written("pid,peer"), expected);
    assert!(written("drops").contains("\"memory\":{") && !written("drops").contains("tcp_info"));
    assert!(written("rtt").contains("\"tcp_info\":{") && !written("rtt").contains("memory"));
}

#[test]
fn what_is_known_of_the_own_end_is_there_without_being_asked_for() {
    let bare = written("-t --json", &established());
    assert!(!bare.contains("interface") && !bare.contains("only_v6"), "{bare}");
    for (only_v6, text) in [(true, ",\"only_v6\":true,"), (false, ",\"only_v6\":false,")] {
        let row = Row { only_v6: Some(only_v6), interface: 1, ..established() };
        let json = written("-t --json", &row);
        assert!(json.contains(text), "{json}");
        assert!(json.contains(",\"interface\":\"lo\",\"interface_index\":1,"), "{json}");
    }
    // One that is there no more has no name.
    let json = written("-t --json", &Row { interface: u32::MAX, ..established() });
    assert!(json.contains(",\"interface_index\":4294967295,"), "{json}");
    assert!(!json.contains("\"interface\":"), "{json}");
}

/// The test vector of docs/formats/socket.md.
#[test]
fn a_socket_is_one_flat_object() {
    let row = Row {
        transport: Transport::Tcp,
        state: State::TimeWait,
        local: "127.0.0.1:5432".parse().expect("an address"),
        remote: "127.0.0.1:40000".parse().expect("an address"),
        interface: 0,
        only_v6: None,
        receive_queue: 0,
        send_queue: 0,
        uid: 0,
        inode: 0,
        cookie: 0,
        retransmits: 0,
        timer: 3,
        expires_ms: 59_000,
        tcp: None,
        memory: None,
    };
    let json = written("-tpo --json", &row);
    let expected = "{\"version\":1,\"network_transport\":\"tcp\",\"state\":\"TIME-WAIT\",\
        \"receive_queue\":0,\"send_queue\":0,\"local_address\":\"127.0.0.1\",\"local_port\":5432,\
        \"peer_address\":\"127.0.0.1\",\"peer_port\":40000,\"uid\":0,\"inode\":0,\
        \"namespace\":\"host\",\"process\":null,\
        \"timer\":{\"name\":\"time-wait\",\"expires_ms\":59000,\"retransmits\":0}}";
    assert_eq!(json, expected);
}

use clap::Parser;
use portolan_flow::Transport;
use portolan_sockets::{Place, Row, State};

use super::*;
use crate::sockets::SocketsArgs;

#[derive(Parser)]
#[command(disable_help_flag = true)]
struct Only {
    #[command(flatten)]
    sockets: SocketsArgs,
}

/// The test vector of docs/formats/socket.md.
#[test]
fn a_socket_is_one_flat_object() {
    let args = Only::parse_from(["sockets", "-tpo"]).sockets;
    let config = Config::check(&args).expect("valid");
    let row = Row {
        transport: Transport::Tcp,
        state: State::TimeWait,
        local: "127.0.0.1:5432".parse().expect("an address"),
        remote: "127.0.0.1:40000".parse().expect("an address"),
        interface: 0,
        receive_queue: 0,
        send_queue: 0,
        uid: 0,
        inode: 0,
        cookie: 0,
        retransmits: 0,
        timer: 3,
        expires_ms: 59_000,
        tcp: None,
    };
    let listed = Listed { row: &row, place: &Place::here(), holder: None };
    let json = serde_json::to_string(&SocketRecord::of(&listed, &config)).expect("plain data");
    let expected = "{\"version\":1,\"network_transport\":\"tcp\",\"state\":\"TIME-WAIT\",\
        \"receive_queue\":0,\"send_queue\":0,\"local_address\":\"127.0.0.1\",\"local_port\":5432,\
        \"peer_address\":\"127.0.0.1\",\"peer_port\":40000,\"uid\":0,\"inode\":0,\
        \"namespace\":\"host\",\"process\":null,\
        \"timer\":{\"name\":\"time-wait\",\"expires_ms\":59000,\"retransmits\":0}}";
    assert_eq!(json, expected);
}

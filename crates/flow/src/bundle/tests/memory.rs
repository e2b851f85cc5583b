//! Ports in the range of the ephemeral ones whose listener is gone, or was never seen.

use super::*;

fn remembering(sockets: &[Observation], address: &str, owner: Owner) -> Bundle {
    let mut bundler = Bundler::new(PortRange::LINUX);
    sockets.iter().cloned().for_each(|seen| bundler.observe(seen));
    let address: SocketAddr = address.parse().expect("an address and a port");
    let end = listener(&address.to_string(), owner).local_end();
    bundler.remember(1, Transport::Tcp, address.port(), end);
    bundler.finish()
}

/// Clients with lower and higher ports than the server's 50051.
fn clients(phase: Phase) -> Vec<Observation> {
    let of = |port| {
        let local = format!("10.0.0.1:{port}");
        tcp(&local, "10.0.0.1:50051", phase, process("client"))
    };
    vec![of(40000), of(55000)]
}

fn servers(phase: Phase, owner: &Owner) -> Vec<Observation> {
    clients(phase).iter().map(|client| client.mirrored(1, phase, owner.clone())).collect()
}

#[test]
fn a_remembered_listener_proves_the_direction_and_is_not_listed() {
    let grpc = process("grpc");
    let up = servers(Phase::Connected, &grpc);
    let both = [clients(Phase::Connected), up.clone()].concat();
    let over = servers(Phase::TimeWait, &Owner::Unobserved);
    for sockets in [up, both, over] {
        for bound in ["0.0.0.0:50051", "10.0.0.1:50051"] {
            let bundle = remembering(&sockets, bound, grpc.clone());
            assert_eq!(bundle.listeners, []);
            assert_eq!(bundle.flows.len(), 1, "{:#?}", bundle.flows);
            let flow = &bundle.flows[0];
            assert_eq!((flow.server_port, flow.guessed), (50051, false));
            assert_eq!(flow.server.owner, grpc);
        }
    }
}

#[test]
fn what_called_a_remembered_listener_knows_the_server() {
    let over = clients(Phase::TimeWait);
    let bundle = remembering(&over, "0.0.0.0:50051", process("grpc"));
    assert_eq!(bundle.flows[0].server.owner, process("grpc"));
}

#[test]
fn what_listens_now_counts_before_what_is_remembered() {
    let call = tcp("10.0.0.1:50051", "10.0.0.1:5432", Phase::Connected, process("psql"));
    let sockets = [call.clone(), listener("0.0.0.0:5432", process("postgres"))];
    let flows = remembering(&sockets, "0.0.0.0:50051", process("psql")).flows;
    assert_eq!((flows[0].server_port, flows[0].guessed), (5432, false));

    let answer = call.mirrored(1, Phase::Connected, process("postgres"));
    let sockets = [sockets.to_vec(), vec![answer]].concat();
    let flows = remembering(&sockets, "0.0.0.0:50051", process("psql")).flows;
    assert_eq!((flows[0].server_port, flows[0].guessed), (5432, false));
}

/// The kernel may give a port that was a listener's to the next client.
#[test]
fn a_client_that_got_the_port_of_a_listener_is_a_client() {
    let call = tcp("10.0.0.1:50051", "192.0.2.1:443", Phase::Connected, process("curl"));
    let flows = remembering(&[call], "0.0.0.0:50051", process("grpc")).flows;
    assert_eq!((flows[0].server_port, flows[0].side()), (443, "active"));
}

#[test]
fn an_ephemeral_port_that_several_call_serves() {
    let grpc = process("grpc");
    let up = servers(Phase::Connected, &grpc);
    let both = [clients(Phase::Connected), up.clone()].concat();
    let over = servers(Phase::TimeWait, &Owner::Unobserved);
    for sockets in [up, both, over, clients(Phase::Connected)] {
        let flows = bundle(&sockets).flows;
        assert_eq!(flows.len(), 1, "{flows:#?}");
        assert_eq!((flows[0].server_port, flows[0].guessed), (50051, true));
    }
}

#[test]
fn of_two_shared_ports_the_one_with_more_peers_serves() {
    let mut sockets = servers(Phase::Connected, &process("grpc"));
    // The port of one of the clients was given to a second connection.
    sockets.push(tcp("10.0.0.1:55000", "192.0.2.1:50052", Phase::Connected, process("client")));
    sockets.push(tcp("10.0.0.1:50051", "10.0.0.1:41000", Phase::Connected, process("grpc")));
    let ports: BTreeSet<u16> = bundle(&sockets).flows.iter().map(|flow| flow.server_port).collect();
    assert!(ports.contains(&50051) && !ports.contains(&40000), "{ports:?}");
    assert!(!ports.contains(&41000), "{ports:?}");
}

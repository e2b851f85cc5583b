use super::*;

const ASK: Ask = Ask {
    connections: 64,
    threads: 1,
    duration: Duration::from_secs(2),
    keep_alive: true,
    rate: None,
};

fn args(client: Client, ask: Ask) -> String {
    client.args(ask).join(" ")
}

#[test]
fn everyone_is_told_the_same() {
    let url = "http://127.0.0.1:5000/";
    let own = "--duration 2000ms --threads 1 --json --connections 64";
    assert_eq!(args(Client::Http, ASK), format!("client http {url} {own}"));
    assert_eq!(args(Client::Wrk, ASK), format!("-t1 -c64 -d2s {url}"));
    assert_eq!(args(Client::H2load, ASK), format!("--h1 -t1 -c64 -D2s {url}"));
    let oha = "--no-tui --output-format json --worker-threads 1 -c 64 -z 2s";
    assert_eq!(args(Client::Oha, ASK), format!("{oha} {url}"));
}

#[test]
fn everyone_is_told_not_to_keep_connections() {
    let ask = Ask { keep_alive: false, ..ASK };
    assert!(args(Client::Http, ask).ends_with(" --no-keepalive"));
    for client in [Client::Wrk, Client::H2load] {
        assert!(args(client, ask).contains("-H Connection: close"), "{client:?}");
    }
    assert!(args(Client::H2load, ask).contains("-n30000"), "it would not end");
    assert!(args(Client::Oha, ask).contains("--disable-keepalive"));
}

#[test]
fn connections_are_asked_for_at_a_rate_or_as_many_as_go() {
    let connect = "client connect 127.0.0.1:5000 --duration 2000ms --threads 1 --json";
    let one = args(Client::Connect { resets: true }, ASK);
    assert_eq!(one, format!("{connect} --connections 64 --requests 0 --reset"));
    let many = args(Client::TooMany, Ask { rate: Some(80_000.0), ..ASK });
    assert_eq!(many, format!("{connect} --rate 80000 --requests 0"));
}

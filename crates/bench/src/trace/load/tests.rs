use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn words(args: &[String]) -> String {
    args.join(" ")
}

#[test]
fn a_size_is_a_rate() {
    let plan = Plan::at_rate(Flow::Short, 20_000, SECOND);
    assert_eq!(
        words(&plan.client_args()),
        "client connect 127.0.0.1:5000-5000 --connections 1000 --duration 1000ms --threads 1 \
         --json --rate 20000 --source-ports 10000-65535"
    );
    assert_eq!(
        words(&plan.server_args()),
        "server --listen 127.0.0.1:5000-5000 --transport tcp --threads 1 --duration 61000ms --json"
    );
}

#[test]
fn a_size_is_a_number_of_services() {
    let plan = Plan::at_rate(Flow::Fan, 200, SECOND);
    let client = words(&plan.client_args());
    assert!(client.contains("127.0.0.1:5000-5199") && client.contains("--rate 10000"), "{client}");
    let most = u16::try_from(SERVICES_MAX).unwrap();
    assert_eq!(FIRST_PORT + most, 10_000, "source ports begin above");
}

#[test]
fn a_closed_loop_has_no_rate() {
    let persistent = words(&Plan::closed_loop(Flow::Persistent, 1, SECOND).client_args());
    assert!(persistent.starts_with("client request") && !persistent.contains("--rate"));
    assert!(persistent.contains("--connections 1 "));
    let udp = Plan::closed_loop(Flow::Udp, 1, SECOND);
    assert!(words(&udp.client_args()).starts_with("client udp"));
    assert!(!words(&udp.client_args()).contains("--source-ports"));
    assert!(words(&udp.server_args()).contains("--transport udp"));
}

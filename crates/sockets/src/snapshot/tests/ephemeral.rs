//! A server on a port in the range of the ephemeral ones that closes its listener.

use super::*;

/// In the default range, above most ports that the kernel chooses for clients, or below.
const GRPC: u16 = 50051;

/// A server that closes its listener, and then its connections, when it is told to.
fn server() -> Program {
    let mut server = Program::perl(&format!(
        "socket(L, PF_INET, SOCK_STREAM, 6); \
         bind(L, sockaddr_in({GRPC}, INADDR_LOOPBACK)) or die; listen(L, 9); print qq(listens\\n); \
         for (1..3) {{ accept(my $c, L) or die; push @c, $c }} print qq(accepted\\n); \
         <STDIN>; close L; print qq(closed\\n); \
         <STDIN>; close $_ for @c; print qq(ended\\n)"
    ));
    assert_eq!(server.line(), "listens");
    server
}

#[test]
fn connections_that_outlive_their_listener_keep_their_direction() {
    in_own_namespaces(|way| {
        let mut server = server();
        let mut client = Program::bash(&format!(
            "for _ in 1 2 3; do exec {{fd}}<>/dev/tcp/127.0.0.1/{GRPC}; done; echo open"
        ));
        assert_eq!(client.line(), "open");
        assert_eq!(server.line(), "accepted");
        let mut snapshot = open(way, true);
        let check = |snapshot: &mut Snapshot| {
            let reading = read(snapshot);
            let flow = only(&reading.bundle.flows).clone();
            assert_eq!((flow.server_port, flow.guessed), (GRPC, false));
            assert_eq!(who(&flow.server).0, Some("perl"));
            (reading.bundle.listeners.len(), flow)
        };
        assert_eq!(check(&mut snapshot).0, 1);
        server.tell();
        assert_eq!(server.line(), "closed");
        let (listeners, flow) = check(&mut snapshot);
        assert_eq!((listeners, flow.connections(), who(&flow.client).0), (0, 3, Some("bash")));
        server.tell();
        assert_eq!(server.line(), "ended");
        drop(client);
        eventually("all are in TIME-WAIT", || {
            let flows = read(&mut snapshot).bundle.flows;
            only(&flows).time_wait() == 3
        });
        assert_eq!(check(&mut snapshot).1.time_wait(), 3);
    });
}

use std::net::TcpStream;

use super::*;

/// Connects when it is asked for the first line, so that the count has something to count.
struct Caller {
    address: SocketAddrV4,
    calls: u32,
}

impl Read for Caller {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.calls == 0 {
            return Ok(0);
        }
        self.calls -= 1;
        drop(TcpStream::connect(self.address)?);
        buffer[0] = b'\n';
        Ok(1)
    }
}

#[test]
fn every_line_is_answered_with_what_was_accepted_so_far() {
    let address = SocketAddrV4::new(Ipv4Addr::new(127, 0, 77, 1), 7_701);
    let mut said = Vec::new();
    let caller = io::BufReader::with_capacity(1, Caller { address, calls: 2 });
    listen(&Listen { address, ticks: vec![] }, &mut said, &mut { caller }).unwrap();
    let said = String::from_utf8(said).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], Listen::ready());
    let served = |line: &str| serde_json::from_str::<Served>(line).unwrap().accepted;
    assert_eq!(lines[1..].iter().map(|line| served(line)).collect::<Vec<_>>(), [1, 2, 2]);
}

#[test]
fn where_it_cannot_listen_is_said() {
    let address = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 80);
    let refused = listen(&Listen { address, ticks: vec![] }, &mut Vec::new(), &mut &b""[..]);
    assert!(refused.unwrap_err().to_string().contains("listen at 192.0.2.1:80"));
}

#[test]
fn the_command_line_says_everything() {
    let address = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 80);
    let plain = Listen { address, ticks: vec![] };
    assert_eq!(plain.to_args().join(" "), "--address 0.0.0.0:80");
    let ticks = [78, 80].map(|net| SocketAddrV4::new(Ipv4Addr::new(10, net, 0, 255), 9)).to_vec();
    assert_eq!(
        Listen { ticks, ..plain }.to_args().join(" "),
        "--address 0.0.0.0:80 --tick 10.78.0.255:9 --tick 10.80.0.255:9"
    );
}

use std::process::Command;

use super::*;
use crate::mem;

/// Longer than 32 bits hold.
const SINCE: Duration = Duration::new(0x1_0000_0000, 5);

#[test]
fn the_bytes_are_those_of_the_format() {
    let mut out = Vec::new();
    format::beginning(&mut out, "tap0");
    let section = [
        &[0x0a, 0x0d, 0x0d, 0x0a, 44, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..],
        &[0xff; 8],
        &[4, 0, 8, 0],
        b"portolan",
        &[0, 0, 0, 0, 44, 0, 0, 0],
    ];
    let interface = [
        &[1, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0][..],
        &[2, 0, 4, 0],
        b"tap0",
        &[9, 0, 1, 0, 9, 0, 0, 0],
        &[0, 0, 0, 0, 40, 0, 0, 0],
    ];
    assert_eq!(out, [section.concat(), interface.concat()].concat());

    let mut out = Vec::new();
    format::frame(&mut out, SINCE, Direction::Outbound, &[0xaa; 5]);
    // 2^32 s and 5 ns in nanoseconds: 2^32 * 10^9 + 5.
    let frame = [
        &[6, 0, 0, 0, 52, 0, 0, 0, 0, 0, 0, 0][..],
        &1_000_000_000_u32.to_le_bytes(),
        &5_u32.to_le_bytes(),
        &[5, 0, 0, 0, 5, 0, 0, 0],
        &[0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0, 0, 0],
        &[2, 0, 4, 0, 2, 0, 0, 0],
        &[0, 0, 0, 0, 52, 0, 0, 0],
    ];
    assert_eq!(out, frame.concat());
}

fn put(buffer: &mut [u8], byte: u8, len: usize) -> Option<Departure> {
    buffer[..len].fill(byte);
    Some(Departure::whole(len))
}

fn send(nic: &mut dyn Nic, byte: u8, len: usize) {
    let mut next = Some(byte);
    let fill = &mut |buffer: &mut [u8]| put(buffer, next.take()?, len);
    assert_eq!(nic.transmit(fill).unwrap(), 1);
}

#[test]
fn tcpdump_reads_both_directions() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("both.pcapng");
    let (near, mut far) = mem::pair(&mem::Options { mtu: 65_535, ..mem::Options::default() });
    let mut near = Pcap::create(near, "near", &path).unwrap();
    for (byte, len) in [(0x11, 60), (0x22, 61), (0x33, 65_000)] {
        send(&mut near, byte, len);
        send(&mut far, byte, len + 1);
        assert_eq!(near.receive(&mut |it| assert_eq!(it.bytes.len(), len + 1)).unwrap(), 1);
    }
    assert!(near.take_error().is_none());
    drop(near);
    let arguments = ["-nn", "-tt", "-e", "--nano", "-r"];
    let tcpdump = Command::new("tcpdump").args(arguments).arg(&path).output();
    let tcpdump = tcpdump.expect("needs tcpdump: scripts/install test");
    let text = String::from_utf8(tcpdump.stdout).unwrap();
    assert!(tcpdump.status.success(), "{}", String::from_utf8_lossy(&tcpdump.stderr));
    let lengths: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once("length ")?.1.split([':', ',', ' ']).next())
        .collect();
    assert_eq!(lengths, ["60", "61", "61", "62", "65000", "65001"], "{text}");
    let times = text.lines().filter_map(|line| line.split(' ').next()?.parse::<f64>().ok());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    let times: Vec<f64> = times.collect();
    assert_eq!(times.len(), 6, "{text}");
    assert!(times.iter().all(|time| (now - 3_600.0..now + 1.0).contains(time)), "{text}");
}

/// Takes so many bytes and then fails.
struct Limited(usize);

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.checked_sub(bytes.len()) {
            Some(left) => self.0 = left,
            None => return Err(io::ErrorKind::StorageFull.into()),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn when_it_cannot_be_written_the_traffic_goes_on() {
    let (near, mut far) = mem::pair(&mem::Options::default());
    // Room for the beginning and two frames.
    let mut near = Pcap::new(near, "near", Limited(84 + 2 * (60 + 44))).unwrap();
    for byte in 0..5 {
        send(&mut near, byte, 60);
    }
    let mut came = 0;
    far.receive(&mut |it| {
        assert_eq!(it.bytes, [came; 60]);
        came += 1;
    })
    .unwrap();
    assert_eq!(came, 5);
    assert_eq!(near.unwritten(), 3);
    let error = near.take_error().unwrap().to_string();
    assert!(error.contains("near") && error.contains("not kept"), "{error}");
    assert!(near.take_error().is_none(), "once");
    assert!(Pcap::new(far, "far", Limited(10)).is_err(), "not even the beginning");
}

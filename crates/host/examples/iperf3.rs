//! A server for iperf3's TCP tests, both directions and several streams:
//! `sudo cargo run --release --example iperf3`, then
//! `sudo ip addr add 192.168.200.1/24 dev ptl0; iperf3 -c 192.168.200.10` and the same with `-R`.
//!
//! One test after the other. The protocol is that of iperf 3.12 (src/iperf_api.h): on the first
//! connection a cookie of 37 bytes, then states of one byte and JSON behind its length; each stream
//! begins with the cookie.

use std::{
    env,
    error::Error,
    io::{self, Read, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Instant,
};

use portolan_host::{
    Config,
    blocking::{Connection, Endpoint, Listener},
    nic::{Nic, Packet, Tap, packet},
};

const PORT: u16 = 5201;
const COOKIE_BYTES: usize = 37;
const BUFFER_BYTES: usize = 1 << 17;

// States of a test.
const TEST_START: u8 = 1;
const TEST_RUNNING: u8 = 2;
const TEST_END: u8 = 4;
const PARAMETERS: u8 = 9;
const CREATE_STREAMS: u8 = 10;
const EXCHANGE_RESULTS: u8 = 13;
const DISPLAY_RESULTS: u8 = 14;

fn main() -> Result<(), Box<dyn Error>> {
    let device = env::args().nth(1).unwrap_or_else(|| "tap:ptl0".to_owned());
    let address = env::args().nth(2).unwrap_or_else(|| "192.168.200.10/24".to_owned());
    let config = Config::new(vec![address.parse()?]);
    let endpoint = Endpoint::start(&config, vec![open(&device)?])?;
    let listener = endpoint.listen(None, PORT)?;
    let mut said = io::stderr();
    writeln!(said, "{address} port {PORT} on {device}")?;
    loop {
        match test(&listener) {
            Ok(told) => writeln!(said, "{told}")?,
            Err(error) => writeln!(said, "a test failed: {error}")?,
        }
    }
}

fn open(device: &str) -> Result<Box<dyn Nic + Send>, Box<dyn Error>> {
    if let Some(name) = device.strip_prefix("packet:") {
        return Ok(Box::new(Packet::open(name, 1, &packet::Options::default())?.remove(0)));
    }
    let tap = Tap::open(device.trim_start_matches("tap:"), 1)?.remove(0);
    tap.set_up(true)?;
    Ok(Box::new(tap))
}

fn test(listener: &Listener) -> io::Result<String> {
    let control = listener.accept()?;
    let cookie = cookie(&control)?;
    tell(&control, PARAMETERS)?;
    let parameters = read_json(&control)?;
    let has = |name: &str| parameters.contains(&format!("\"{name}\":true"));
    let (is_reverse, is_both) = (has("reverse"), has("bidirectional"));
    let streams = number(&parameters, "parallel").unwrap_or(1);
    tell(&control, CREATE_STREAMS)?;
    let mut connections = Vec::new();
    // In both directions: first those by which the client sends.
    let directions: &[bool] = if is_both { &[false, true] } else { &[is_reverse] };
    for &is_sending in directions {
        for _ in 0..streams {
            let connection = listener.accept()?;
            if self::cookie(&connection)? != cookie {
                return Err(io::Error::other("another client came, while a test runs"));
            }
            connections.push((connection, is_sending));
        }
    }
    tell(&control, TEST_START)?;
    tell(&control, TEST_RUNNING)?;
    let began = Instant::now();
    let mut streams = Vec::new();
    for (connection, is_sending) in connections {
        let moved = Arc::new(AtomicU64::new(0));
        streams.push(Arc::clone(&moved));
        // It ends when the client closes the connection, or resets it since it has enough.
        thread::spawn(move || {
            if is_sending { send(&connection, &moved) } else { receive(&connection, &moved) }
        });
    }
    wait_for(&control, TEST_END)?;
    let seconds = began.elapsed().as_secs_f64();
    let moved: Vec<u64> = streams.iter().map(|it| it.load(Ordering::Relaxed)).collect();
    tell(&control, EXCHANGE_RESULTS)?;
    let _ = read_json(&control)?;
    write_json(&control, &results(&moved, seconds, directions))?;
    tell(&control, DISPLAY_RESULTS)?;
    // That it is done, which no client needs to say.
    let _ = control_byte(&control);
    let what = if is_both {
        "both ways"
    } else if is_reverse {
        "sent"
    } else {
        "received"
    };
    let rate = moved.iter().sum::<u64>() as f64 * 8e-9 / seconds;
    Ok(format!("{what} {rate:.2} Gb/s by {} streams", moved.len()))
}

fn receive(mut connection: &Connection, moved: &AtomicU64) {
    let mut buffer = vec![0; BUFFER_BYTES];
    while let Ok(count @ 1..) = connection.read(&mut buffer) {
        moved.fetch_add(count as u64, Ordering::Relaxed);
    }
}

fn send(mut connection: &Connection, moved: &AtomicU64) {
    let buffer = vec![0x5a; BUFFER_BYTES];
    while let Ok(count) = connection.write(&buffer) {
        moved.fetch_add(count as u64, Ordering::Relaxed);
    }
}

fn cookie(mut connection: &Connection) -> io::Result<[u8; COOKIE_BYTES]> {
    let mut cookie = [0; COOKIE_BYTES];
    connection.read_exact(&mut cookie)?;
    Ok(cookie)
}

fn tell(mut control: &Connection, state: u8) -> io::Result<()> {
    control.write_all(&[state])
}

fn control_byte(mut control: &Connection) -> io::Result<u8> {
    let mut state = [0];
    control.read_exact(&mut state)?;
    Ok(state[0])
}

fn wait_for(control: &Connection, wanted: u8) -> io::Result<()> {
    match control_byte(control)? {
        state if state == wanted => Ok(()),
        state => Err(io::Error::other(format!("the client says {state}, not {wanted}"))),
    }
}

fn read_json(mut control: &Connection) -> io::Result<String> {
    let mut length = [0; 4];
    control.read_exact(&mut length)?;
    let mut text = vec![0; (u32::from_be_bytes(length) as usize).min(1 << 20)];
    control.read_exact(&mut text)?;
    let text = String::from_utf8(text).map_err(io::Error::other)?;
    Ok(text.replace(char::is_whitespace, ""))
}

fn write_json(mut control: &Connection, text: &str) -> io::Result<()> {
    let length = u32::try_from(text.len()).map_err(io::Error::other)?;
    control.write_all(&[&length.to_be_bytes(), text.as_bytes()].concat())
}

fn number(json: &str, name: &str) -> Option<u64> {
    let (_, behind) = json.split_once(&format!("\"{name}\":"))?;
    behind.split(|it: char| !it.is_ascii_digit()).next()?.parse().ok()
}

fn results(moved: &[u64], seconds: f64, directions: &[bool]) -> String {
    let one = |(nth, bytes): (usize, &u64)| {
        // iperf3 numbers streams 1, 3, 4, and so on.
        let id = if nth == 0 { 1 } else { nth + 2 };
        format!(
            "{{\"id\":{id},\"bytes\":{bytes},\"retransmits\":-1,\"jitter\":0,\"errors\":0,\
             \"packets\":0,\"start_time\":0,\"end_time\":{seconds}}}"
        )
    };
    let streams: Vec<String> = moved.iter().enumerate().map(one).collect();
    format!(
        "{{\"cpu_util_total\":0,\"cpu_util_user\":0,\"cpu_util_system\":0,\
         \"sender_has_retransmits\":{},\"streams\":[{}]}}",
        if directions == [true] { 0 } else { -1 },
        streams.join(",")
    )
}

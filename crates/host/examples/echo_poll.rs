//! An echo server that lives on the queue's thread, without locks or copies of its own:
//! `sudo cargo run --example echo_poll`, then
//! `sudo ip addr add 192.168.200.1/24 dev ptl0; nc 192.168.200.10 7`.

use std::{
    error,
    io::{self, Write},
    thread,
    time::Duration,
};

use portolan_host::{
    Config, Context, Ending, Error, Host, Program,
    nic::Tap,
    stack::{
        Event,
        tcp::{self, ConnectionId, State},
    },
};

struct Echo;

impl Echo {
    /// Writes back what there is to read, as far as there is room; whether that was the last.
    fn copy(&self, context: &mut Context<'_>, id: ConnectionId) -> Result<bool, tcp::Error> {
        let now = context.now;
        let tcp = context.stack.tcp();
        let mut buffer = [0; 16_384];
        loop {
            let front = tcp.front(id)?;
            if front.is_empty() {
                return Ok(matches!(tcp.info(id)?.state, State::CloseWait | State::Closed));
            }
            let count = front.len().min(buffer.len());
            buffer[..count].copy_from_slice(&front[..count]);
            // What finds no room stays where it is: the peer's window fills. An event tells.
            match tcp.write(id, &buffer[..count], now)? {
                0 => return Ok(false),
                written => tcp.consume(id, written, now)?,
            }
        }
    }
}

impl Program for Echo {
    fn begin(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        context.listen(None, 7, 64).map(drop)
    }

    fn event(&mut self, context: &mut Context<'_>, event: Event) {
        match event {
            Event::Tcp(tcp::Event::Acceptable(listener)) => {
                while let Ok(Some(_)) = context.stack.tcp().accept(listener, context.now) {}
            }
            Event::Tcp(tcp::Event::Connection { id, .. }) => {
                if self.copy(context, id).unwrap_or(true) {
                    // What was written still goes out. The handle is ours until here.
                    let _ = context.stack.tcp().close(id, context.now);
                }
            }
            Event::Udp(_) | Event::AddressConflict(_) => {}
        }
    }

    fn end(&mut self, _context: &mut Context<'_>, _how: Ending) {}
}

fn main() -> Result<(), Box<dyn error::Error>> {
    let taps = Tap::open("ptl0", 1)?;
    taps[0].set_up(true)?;
    let config = Config::new(vec!["192.168.200.10/24".parse()?]);
    let mut host = Host::start(&config, taps.into_iter().map(|tap| (tap, Echo)).collect())?;
    while !host.has_ended() {
        thread::sleep(Duration::from_secs(1));
        writeln!(io::stdout(), "{:?}", host.readings()[0].tcp)?;
    }
    Ok(host.stop()?)
}

//! A proxy that lives on the queue's thread: what comes to port 8080 goes to a server, and back:
//! `sudo cargo run --example proxy_poll -- 192.168.200.1:80`, then
//! `sudo ip addr add 192.168.200.1/24 dev ptl0; curl http://192.168.200.10:8080/`, while
//! `python3 -m http.server 80` runs.
//!
//! Bytes go from one connection's memory into the other's, without a buffer of its own: what finds
//! no room stays where it is, and closes the window of who sends it.

use std::{collections::HashMap, env, error, net::SocketAddr, thread, time::Duration};

use portolan_host::{
    Config, Context, Ending, Error, Host, Program,
    nic::Tap,
    stack::{
        Event,
        tcp::{self, ConnectionId, Ready},
    },
};

struct Proxy {
    server: SocketAddr,
    /// The other half of each, and whether what comes from here is at its end.
    halves: HashMap<ConnectionId, (ConnectionId, bool)>,
}

impl Proxy {
    fn accept(&mut self, context: &mut Context<'_>, client: ConnectionId) {
        // It may be written to at once: what is written leaves when it is established.
        match context.stack.connect(self.server, context.now) {
            Ok(server) => {
                self.halves.insert(client, (server, false));
                self.halves.insert(server, (client, false));
            }
            Err(_) => drop(context.stack.tcp().abort(client, context.now)),
        }
    }

    /// Moves what there is in one direction, as far as there is room.
    fn copy(&self, context: &mut Context<'_>, from: ConnectionId) -> Result<(), tcp::Error> {
        let Some(&(to, is_at_end)) = self.halves.get(&from) else { return Ok(()) };
        let (tcp, now) = (context.stack.tcp(), context.now);
        let mut buffer = [0; 16_384];
        loop {
            let front = tcp.front(from)?;
            let count = front.len().min(buffer.len());
            buffer[..count].copy_from_slice(&front[..count]);
            if count == 0 {
                return if is_at_end { tcp.finish(to, now) } else { Ok(()) };
            }
            match tcp.write(to, &buffer[..count], now)? {
                0 => return Ok(()),
                written => tcp.consume(from, written, now)?,
            }
        }
    }

    fn event(&mut self, context: &mut Context<'_>, id: ConnectionId, ready: Ready) {
        let Some((other, is_at_end)) = self.halves.get_mut(&id) else { return };
        *is_at_end |= ready.contains(Ready::FINISHED);
        let other = *other;
        // News of one concern both directions: there is more to read, or room to write.
        let copied = self.copy(context, id).and_then(|()| self.copy(context, other));
        let (tcp, now) = (context.stack.tcp(), context.now);
        let is_broken = copied.is_err() || tcp.info(id).is_ok_and(|info| info.reason.is_some());
        let is_done = [id, other].iter().all(|half| {
            let is_at_end = self.halves.get(half).is_none_or(|(_, is_at_end)| *is_at_end);
            is_at_end && tcp.front(*half).is_ok_and(<[u8]>::is_empty)
        });
        if is_broken || is_done {
            for half in [id, other] {
                self.halves.remove(&half);
                // Both are ours until here. What was written still goes out, unless one has failed.
                let _ = if is_broken { tcp.abort(half, now) } else { tcp.close(half, now) };
            }
        }
    }
}

impl Program for Proxy {
    fn begin(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        context.listen(None, 8080, 128).map(drop)
    }

    fn event(&mut self, context: &mut Context<'_>, event: Event) {
        match event {
            Event::Tcp(tcp::Event::Acceptable(listener)) => {
                while let Ok(Some(client)) = context.stack.tcp().accept(listener, context.now) {
                    self.accept(context, client);
                }
            }
            Event::Tcp(tcp::Event::Connection { id, ready }) => self.event(context, id, ready),
            Event::Udp(_) | Event::AddressConflict(_) => {}
        }
    }

    fn end(&mut self, context: &mut Context<'_>, how: Ending) {
        for id in self.halves.keys().copied() {
            // Who has it still has it.
            let _ = match how {
                Ending::Orderly => context.stack.tcp().finish(id, context.now),
                Ending::AtOnce => context.stack.tcp().abort(id, context.now),
            };
        }
    }
}

fn main() -> Result<(), Box<dyn error::Error>> {
    let server = env::args().nth(1).unwrap_or_else(|| "192.168.200.1:80".to_owned()).parse()?;
    let taps = Tap::open("ptl0", 1)?;
    taps[0].set_up(true)?;
    let config = Config::new(vec!["192.168.200.10/24".parse()?]);
    let proxy = |tap| (tap, Proxy { server, halves: HashMap::new() });
    let mut host = Host::start(&config, taps.into_iter().map(proxy).collect())?;
    while !host.has_ended() {
        thread::sleep(Duration::from_secs(1));
    }
    Ok(host.stop()?)
}

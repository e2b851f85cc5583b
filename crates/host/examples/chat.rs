//! A chat room with a thread per guest: `sudo cargo run --example chat`, then
//! `sudo ip addr add 192.168.200.1/24 dev ptl0`, and some times `nc 192.168.200.10 7000`.
//!
//! A connection in an `Arc` is read by its own thread, and written by those of the others. Who does
//! not read what is said is shown out: nobody waits for him longer than a moment.

use std::{
    error::Error,
    io::{self, BufRead, BufReader, Write},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use portolan_host::{
    Config,
    blocking::{Connection, Endpoint},
    nic::Tap,
};

/// So long a guest may keep the others waiting.
const PATIENCE: Duration = Duration::from_millis(100);

#[derive(Default)]
struct Room(Mutex<Vec<Arc<Connection>>>);

impl Room {
    /// To all, and so in the same order for each. Who fails to take it is dropped, and so closed
    /// once his own thread has noticed.
    fn say(&self, line: &str) {
        let mut guests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        guests.retain(|guest| {
            let told = (&**guest).write_all(line.as_bytes());
            if told.is_err() {
                guest.finish();
            }
            told.is_ok()
        });
    }

    fn enter(&self, guest: &Arc<Connection>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(guest));
    }

    fn leave(&self, guest: &Arc<Connection>) {
        let mut guests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        guests.retain(|other| !Arc::ptr_eq(other, guest));
    }
}

fn listen_to(room: &Room, guest: &Arc<Connection>, name: &str) -> io::Result<()> {
    guest.set_write_timeout(Some(PATIENCE));
    guest.set_nodelay(true)?;
    room.enter(guest);
    for line in BufReader::new(&**guest).lines() {
        room.say(&format!("{name}: {}\n", line?));
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let taps = Tap::open("ptl0", 1)?;
    taps[0].set_up(true)?;
    let endpoint = Endpoint::start(&Config::new(vec!["192.168.200.10/24".parse()?]), taps)?;
    let listener = endpoint.listen(None, 7000)?;
    let room = Arc::new(Room::default());
    loop {
        let guest = Arc::new(listener.accept()?);
        let room = Arc::clone(&room);
        thread::spawn(move || {
            let name = guest.ends().map(|(_, other)| other.to_string()).unwrap_or_default();
            let ended = listen_to(&room, &guest, &name);
            room.leave(&guest);
            let why = ended.err().map(|error| format!(" ({error})")).unwrap_or_default();
            room.say(&format!("{name} has left{why}\n"));
        });
    }
}

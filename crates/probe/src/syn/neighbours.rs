//! Who on the host's own links has which Ethernet address: the asking by ARP (RFC 826), without
//! I/O. The kernel could do it, but remembers a thousand or so (`gc_thresh3`), and a sweep asks
//! about many times that.
//!
//! What goes in: [`ask`](Neighbours::ask), [`handle_reply`](Neighbours::handle_reply),
//! [`forget`](Neighbours::forget); what is to be sent comes back as values. Time is an argument.
//!
//! A reply is believed if it is the first to a request of ours that somebody still waits for, came
//! by the link that was asked on, and is addressed to who asked. ARP proves no more: whoever is on
//! the link and heard the request, a broadcast, can answer in another's name.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use portolan_wire::{arp, ethernet};

use super::flights::Flight;
use crate::Id;

/// An address on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The link's number.
    pub interface: u32,
    /// The address that somebody may have there.
    pub address: Ipv4Addr,
}

/// A SYN that is to reach a neighbour.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// The check.
    pub id: Id,
    /// Its SYN.
    pub flight: Flight,
    /// Which question it is, the first being 0.
    pub attempt: u8,
}

/// What is to be sent when a question is asked; either, both or, where the answer to a request is
/// awaited already, nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sends {
    /// The SYN, to this Ethernet address.
    pub syn_to: Option<[u8; 6]>,
    /// A request for the Ethernet address.
    pub request: bool,
}

/// Who is known, who is asked, and who waits for that.
#[derive(Debug, Default)]
pub struct Neighbours {
    /// Those that are known, or waited for.
    by_place: HashMap<Place, Neighbour>,
    /// How many of them are waited for.
    waited_for: usize,
    /// By the number of the check.
    waiters: Vec<Option<Waiter>>,
}

#[derive(Debug, Default)]
struct Neighbour {
    known: Option<Known>,
    /// The last request, until it is answered or nobody waits for that.
    request: Option<Request>,
    /// The check that came last of those that wait.
    first: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    address: [u8; 6],
    since: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    at: Duration,
    attempt: u8,
    /// Who asks: the reply goes there.
    from: IpAddr,
}

/// A check that waits for an address, in a list of all that wait for the same.
#[derive(Debug)]
struct Waiter {
    waiting: Waiting,
    place: Place,
    /// Where its SYN went already; the wait is for the host that has come there since.
    sent_to: Option<[u8; 6]>,
    before: Option<u32>,
    after: Option<u32>,
}

impl Neighbours {
    /// A question is asked about a target at `place`. Unless its SYN goes out for good, the check
    /// waits until a reply comes or it is forgotten.
    pub fn ask(&mut self, place: Place, waiting: Waiting, now: Duration) -> Sends {
        self.forget(waiting.id);
        let known = self.by_place.get(&place).and_then(|neighbour| neighbour.known);
        let known = known.map(|known| (known.address, now.saturating_sub(known.since)));
        let known = known.filter(|(_, age)| *age <= KNOWN_FOR);
        let syn_to = known.map(|(address, _)| address);
        // Who was asked and is silent may have gone, and another come.
        let is_doubted = waiting.attempt > 0;
        if known.is_some_and(|(_, age)| !is_doubted || age <= UNDOUBTED_FOR) {
            return Sends { syn_to, request: false };
        }
        self.wait(place, waiting, syn_to);
        let neighbour = self.by_place.entry(place).or_default();
        let Waiting { attempt, flight, .. } = waiting;
        // One request serves all the ports of a host. A request or reply that was lost shows in
        // questions that are asked again.
        let is_awaited = neighbour.request.is_some_and(|request| {
            attempt <= request.attempt && now.saturating_sub(request.at) < REQUEST_PAUSE
        });
        if !is_awaited {
            neighbour.request = Some(Request { at: now, attempt, from: flight.source });
        }
        Sends { syn_to, request: !is_awaited }
    }

    /// A reply came by the link `interface`. Hands over each SYN that waited for it, which is to
    /// be sent to the sender's Ethernet address; whether the reply was believed.
    pub fn handle_reply(
        &mut self,
        interface: u32,
        reply: &arp::Repr,
        now: Duration,
        each: &mut dyn FnMut(&Waiting),
    ) -> bool {
        let ethernet::Address(address) = reply.sender_hardware;
        // Nobody may be told that a host is a group (RFC 1812, section 3.3.2), or nobody.
        let is_one = !reply.sender_hardware.is_multicast() && address != [0; 6];
        if reply.operation != arp::Operation::Reply || !is_one {
            return false;
        }
        let place = Place { interface, address: reply.sender_protocol };
        let Some(neighbour) = self.by_place.get_mut(&place) else { return false };
        let is_ours = |request: &Request| request.from == IpAddr::V4(reply.target_protocol);
        // Once it is answered, another could only be from somebody else; and it is no more when
        // nobody waits any longer.
        if neighbour.request.take_if(|request| is_ours(request)).is_none() {
            return false;
        }
        neighbour.known = Some(Known { address, since: now });
        let mut next = neighbour.first.take();
        self.waited_for -= 1;
        while let Some(waiter) = next.and_then(|id| self.waiters.get_mut(id as usize)?.take()) {
            next = waiter.after;
            if waiter.sent_to != Some(address) {
                each(&waiter.waiting);
            }
        }
        true
    }

    /// The check is over, or does not wait any longer.
    pub fn forget(&mut self, id: Id) {
        let Some(waiter) = self.waiters.get_mut(id.0 as usize).and_then(Option::take) else {
            return;
        };
        if let Some(after) = self.waiter(waiter.after) {
            after.before = waiter.before;
        }
        if let Some(before) = self.waiter(waiter.before) {
            before.after = waiter.after;
            return;
        }
        let Some(neighbour) = self.by_place.get_mut(&waiter.place) else { return };
        neighbour.first = waiter.after;
        if neighbour.first.is_some() {
            return;
        }
        self.waited_for -= 1;
        // Nobody waits for the reply any longer.
        neighbour.request = None;
        if neighbour.known.is_none() {
            self.by_place.remove(&waiter.place);
        }
    }

    /// Puts a check, which does not wait, before all those that wait for the same.
    fn wait(&mut self, place: Place, waiting: Waiting, sent_to: Option<[u8; 6]>) {
        // What is only known, and was so for a while, is asked about once more when it is needed.
        if self.by_place.len() - self.waited_for >= KNOWN_MAX {
            self.by_place.retain(|_, neighbour| neighbour.first.is_some());
        }
        let neighbour = self.by_place.entry(place).or_default();
        let after = neighbour.first.replace(waiting.id.0);
        if after.is_none() {
            self.waited_for += 1;
        }
        if let Some(after) = self.waiter(after) {
            after.before = Some(waiting.id.0);
        }
        let at = waiting.id.0 as usize;
        if self.waiters.len() <= at {
            self.waiters.resize_with(at + 1, || None);
        }
        self.waiters[at] = Some(Waiter { waiting, place, sent_to, before: None, after });
    }

    fn waiter(&mut self, id: Option<u32>) -> Option<&mut Waiter> {
        self.waiters.get_mut(id? as usize)?.as_mut()
    }
}

/// How long an address is taken for granted.
const KNOWN_FOR: Duration = Duration::from_secs(30);
/// The same of a host that was asked and is silent.
const UNDOUBTED_FOR: Duration = Duration::from_secs(1);
/// Between two requests for one address on behalf of questions that are equally old.
const REQUEST_PAUSE: Duration = Duration::from_millis(100);
/// Neighbours that are known and not waited for, at most. Those that are waited for are at most as
/// many as checks are under way.
const KNOWN_MAX: usize = 1 << 17;

#[cfg(test)]
mod tests;

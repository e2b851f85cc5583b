//! The sockets of the checks under way.
//!
//! Two slabs that grow to what is needed and are used again, so that a check costs no allocation:
//! a slot per socket, the slots of a check linked, and a list head per check.

use std::os::fd::OwnedFd;

use crate::Id;

/// A socket that waits for its handshake.
pub(super) struct Socket {
    pub(super) fd: OwnedFd,
    pub(super) id: Id,
    pub(super) attempt: u8,
    /// Its target is a port that the kernel may have given to this very socket.
    pub(super) may_meet_itself: bool,
}

/// A slot and which of the sockets that were in it one after the other: an event that was fetched
/// before its socket was closed finds nothing, even when the slot is in use again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(pub(super) u64);

impl Key {
    fn new(slot: u32, generation: u32) -> Self {
        Self(u64::from(generation) << 32 | u64::from(slot))
    }

    #[expect(clippy::cast_possible_truncation, reason = "it takes the two halves apart")]
    fn halves(self) -> (u32, u32) {
        (self.0 as u32, (self.0 >> 32) as u32)
    }
}

/// All of them.
pub(super) struct UnderWay {
    slots: Vec<Slot>,
    /// The first slot that is free.
    free: u32,
    /// The first slot of each check.
    checks: Vec<u32>,
    len: usize,
}

struct Slot {
    socket: Option<Socket>,
    generation: u32,
    /// The next slot of the same check, or the next free one.
    next: u32,
}

impl UnderWay {
    pub(super) fn new() -> Self {
        Self { slots: Vec::new(), free: NONE, checks: Vec::new(), len: 0 }
    }

    /// How many sockets there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn insert(&mut self, socket: Socket) -> Key {
        let check = place(socket.id.0);
        if check >= self.checks.len() {
            self.checks.resize(check + 1, NONE);
        }
        let next = self.checks[check];
        let slot = if self.free == NONE {
            self.slots.push(Slot { socket: Some(socket), generation: 0, next });
            u32::try_from(self.slots.len() - 1).expect("fewer sockets than 32 bits can count")
        } else {
            let slot = self.free;
            let free = &mut self.slots[place(slot)];
            self.free = free.next;
            (free.socket, free.next) = (Some(socket), next);
            slot
        };
        self.checks[check] = slot;
        self.len += 1;
        Key::new(slot, self.slots[place(slot)].generation)
    }

    /// `None` when it was closed since.
    pub(super) fn get(&self, key: Key) -> Option<&Socket> {
        let (slot, generation) = key.halves();
        let slot = self.slots.get(place(slot)).filter(|slot| slot.generation == generation)?;
        slot.socket.as_ref()
    }

    /// Whether a check has sockets.
    pub(super) fn has(&self, id: Id) -> bool {
        self.checks.get(place(id.0)).is_some_and(|&first| first != NONE)
    }

    /// Closes one socket.
    pub(super) fn close(&mut self, key: Key) {
        let Some(id) = self.get(key).map(|socket| socket.id) else { return };
        let (slot, _) = key.halves();
        let next = self.slots[place(slot)].next;
        let mut at = self.checks[place(id.0)];
        if at == slot {
            self.checks[place(id.0)] = next;
        } else {
            while self.slots[place(at)].next != slot {
                at = self.slots[place(at)].next;
            }
            self.slots[place(at)].next = next;
        }
        self.free(slot);
    }

    /// Closes all sockets of a check.
    pub(super) fn close_all(&mut self, id: Id) {
        let Some(first) = self.checks.get_mut(place(id.0)) else { return };
        let mut slot = std::mem::replace(first, NONE);
        while slot != NONE {
            let next = self.slots[place(slot)].next;
            self.free(slot);
            slot = next;
        }
    }

    fn free(&mut self, slot: u32) {
        let freed = &mut self.slots[place(slot)];
        freed.socket = None;
        freed.generation = freed.generation.wrapping_add(1);
        freed.next = self.free;
        self.free = slot;
        self.len -= 1;
    }
}

fn place(slot: u32) -> usize {
    slot as usize
}

/// No slot.
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests;

//! Which sockets with mirrored addresses are the two ends of one connection.

use super::{Observation, PairKey};

/// The pairs among sockets that have the same two addresses, in either order, sorted by namespace:
/// indices, the smaller one first. A listing that was torn by a change can show an end twice: only
/// the last pairs. A socket that is connected to itself has no other end.
///
/// Both ends in one namespace are certain. Where several namespaces use an address, there is no
/// telling which of them have a way to each other, and none is paired with another.
pub(super) fn of(ends: &[(PairKey, &Observation)]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut first = 0;
    for inside in ends.chunk_by(|(_, one), (_, other)| one.netns == other.netns) {
        pairs.extend(last_two(inside).map(|(one, other)| (first + one, first + other)));
        first += inside.len();
    }
    let alone = |lower: bool| {
        let mut places =
            ends.iter().filter(|(_, seen)| is_end(seen, lower)).map(|(_, it)| it.netns);
        let one = places.next();
        one.is_some() && places.all(|netns| Some(netns) == one)
    };
    if pairs.is_empty() && alone(true) && alone(false) {
        pairs.extend(last_two(ends));
    }
    pairs
}

fn last_two(ends: &[(PairKey, &Observation)]) -> Option<(usize, usize)> {
    let last = |lower| ends.iter().rposition(|(_, seen)| is_end(seen, lower));
    last(true).zip(last(false)).map(|(at, to)| (at.min(to), at.max(to)))
}

fn is_end(seen: &Observation, lower: bool) -> bool {
    if lower { seen.local < seen.remote } else { seen.local > seen.remote }
}

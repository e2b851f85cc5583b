//! A listing on several threads.

use std::{num::NonZero, thread};

use super::{MethodName, Query, Slice, choice, open};
use crate::{Coverage, Error, Place, Row};

/// More gain nothing: they wait for the same memory. Also what `walk` has buffers for.
const SLICES_MAX: u64 = 4;

/// Below that a second thread takes longer to start than it saves.
const SOCKETS_PER_SLICE: u64 = 4_000;

/// Into how many slices to cut a listing of the calling thread's namespace.
#[must_use]
pub fn worthwhile_slices(method: MethodName, query: &Query) -> NonZero<u32> {
    let can_share = match method {
        MethodName::Walk => true,
        // Each slice goes through the whole table, and tells only of its part.
        MethodName::Diag => choice::wants_most(query),
        MethodName::Iter | MethodName::Procfs => false,
    };
    if !can_share {
        return NonZero::<u32>::MIN;
    }
    let cores = thread::available_parallelism().map_or(1, NonZero::get) as u64;
    let slices = SLICES_MAX.min(cores).min(choice::connections() / SOCKETS_PER_SLICE);
    u32::try_from(slices).ok().and_then(NonZero::new).unwrap_or(NonZero::<u32>::MIN)
}

/// Lists each slice on a thread of its own: `begin` makes what a thread works on, `each` is called
/// with that and every row of its slice. Returns what the threads worked on.
///
/// # Errors
/// As for [`open`] and [`super::Method::read`]: the first of the threads' errors.
pub fn read_in_slices<T: Send>(
    method: MethodName,
    place: &Place,
    query: &Query,
    slices: NonZero<u32>,
    begin: impl Fn() -> T + Sync,
    each: impl Fn(&mut T, &Row) + Sync,
) -> Result<(Coverage, Vec<T>), Error> {
    let read = |slice: Slice| {
        let mut work = begin();
        let query = Query { slice, ..query.clone() };
        let mut reader = open(method, place)?;
        let coverage = reader.read(&query, &mut |row| each(&mut work, row))?;
        Ok((coverage, work))
    };
    let read = &read;
    let parts: Vec<Result<(Coverage, T), Error>> = thread::scope(|scope| {
        // The calling thread takes the first: for one slice there is no other.
        let mut all = Slice::all(slices);
        let first = all.next().map(|slice| move || read(slice));
        let others: Vec<_> = all.map(|slice| scope.spawn(move || read(slice))).collect();
        let joined = others
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        first.into_iter().map(|read| read()).chain(joined).collect()
    });
    let mut coverage = Coverage::default();
    let mut works = Vec::new();
    for part in parts {
        let (covered, work) = part?;
        coverage.add(covered);
        works.push(work);
    }
    Ok((coverage, works))
}

#[cfg(test)]
mod tests;

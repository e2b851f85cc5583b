//! Reading the sockets that were asked for, on as many threads as pay, with their owners.

use std::{
    num::NonZero,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use anyhow::Context;
use portolan_sockets::{
    Coverage, Error, Lookup, MethodName, Owners, Place, Places, Query, Row, Source, Wish, choose,
    places, read_in_slices, worthwhile_slices,
};
use portolan_sys::user;

use super::{
    Listed,
    config::Config,
    gaps::{self, Told},
    unentered::Unentered,
};

/// Lists the sockets that were asked for, with their owners.
pub struct Reader<'a> {
    /// What was asked for.
    pub config: &'a Config,
    method: MethodName,
    places: Vec<Place>,
    owners: Owners,
    coverage: Coverage,
    told: Told,
    unentered: Unentered,
}

/// What one thread works with.
struct Worker<'a, T> {
    work: T,
    owners: Option<Lookup<'a>>,
    told: Told,
}

impl<'a> Reader<'a> {
    /// Finds out how to list them, and says what cannot be told.
    pub fn open(config: &'a Config) -> anyhow::Result<Self> {
        let (method, owners) = match config.needs_owners {
            true => method_beside_owners(config),
            false => (method(config), Ok(Owners::new())),
        };
        let (method, owners) = (method?, owners?);
        let found = if config.all_netns {
            places().context("cannot list the network namespaces")?
        } else {
            Places { places: vec![Place::here()], hidden_processes: 0 }
        };
        let (places, hidden) = (found.places, found.hidden_processes);
        if let Some(gaps) = gaps::known_before(config, method, owners.hidden_processes()) {
            tell!("portolan: {gaps}");
        }
        let (coverage, told) = (Coverage::default(), Told::default());
        let unentered = Unentered::beside(hidden);
        Ok(Self { config, method, places, owners, coverage, told, unentered })
    }

    /// Hands every socket to `take`, one after the other, until that fails.
    ///
    /// # Errors
    /// When the sockets cannot be listed, and what `take` says.
    pub fn each(
        &mut self,
        take: &mut (dyn FnMut(&Listed<'_>) -> anyhow::Result<()> + Send),
    ) -> anyhow::Result<()> {
        let take = Mutex::new(take);
        let one_by_one = |(): &mut (), listed: &Listed<'_>| {
            let mut take = take.lock().unwrap_or_else(PoisonError::into_inner);
            take(listed)
        };
        self.read(&|_| NonZero::<u32>::MIN, &|| (), &one_by_one).map(drop)
    }

    /// Hands every socket to `take` on one of several threads, until that fails on one of them.
    /// Each works with what `begin` made for it; all of that is returned.
    ///
    /// # Errors
    /// As for [`Reader::each`].
    pub fn side_by_side<T: Send>(
        &mut self,
        begin: impl Fn() -> T + Sync,
        take: impl Fn(&mut T, &Listed<'_>) -> anyhow::Result<()> + Sync,
    ) -> anyhow::Result<Vec<T>> {
        let method = self.method;
        self.read(&|query| worthwhile_slices(method, query), &begin, &take)
    }

    fn read<T: Send>(
        &mut self,
        slices: &dyn Fn(&Query) -> NonZero<u32>,
        begin: &(dyn Fn() -> T + Sync),
        take: &(dyn Fn(&mut T, &Listed<'_>) -> anyhow::Result<()> + Sync),
    ) -> anyhow::Result<Vec<T>> {
        let (mut works, mut coverage, mut told) =
            (Vec::new(), Coverage::default(), Told::default());
        let mut failed = Vec::new();
        for (index, place) in self.places.iter().enumerate() {
            for query in self.config.queries() {
                match self.read_one(place, &query, slices(&query), begin, take)? {
                    Ok((covered, workers)) => {
                        coverage.add(covered);
                        workers.iter().for_each(|worker| told.add(worker.told));
                        works.extend(workers.into_iter().map(|worker| worker.work));
                    }
                    Err(error) if index > 0 => failed.push((place, error)),
                    Err(error) => return Err(error).context("cannot list the sockets"),
                }
            }
        }
        failed.into_iter().for_each(|(place, error)| self.unentered.add(place, error));
        (self.coverage, self.told) = (coverage, told);
        Ok(works)
    }

    /// Lists one transport of one namespace. Fails as `take` does, and inside that as a listing
    /// does.
    #[expect(clippy::type_complexity, reason = "two kinds of failure, each handled differently")]
    fn read_one<T: Send>(
        &self,
        place: &Place,
        query: &Query,
        slices: NonZero<u32>,
        begin: &(dyn Fn() -> T + Sync),
        take: &(dyn Fn(&mut T, &Listed<'_>) -> anyhow::Result<()> + Sync),
    ) -> anyhow::Result<Result<(Coverage, Vec<Worker<'_, T>>), Error>> {
        let owners = || self.config.needs_owners.then(|| self.owners.lookup());
        let begin = || Worker { work: begin(), owners: owners(), told: Told::default() };
        // A dump cannot be left half-way; after a closed pipe the rest of it is read and dropped.
        let (stopped, failure) = (AtomicBool::new(false), Mutex::new(None));
        let each = |worker: &mut Worker<'_, T>, row: &Row| {
            if stopped.load(Ordering::Relaxed) || !self.config.wants(row) {
                return;
            }
            worker.told.see(row);
            let holder = worker.owners.as_mut().and_then(|owners| owners.holder(row.inode));
            if self.config.needs_owners {
                worker.told.see_holder(row, holder.is_some());
            }
            if let Err(error) = take(&mut worker.work, &Listed { row, place, holder }) {
                stopped.store(true, Ordering::Relaxed);
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        };
        let read = read_in_slices(self.method, place, query, slices, begin, each);
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(read),
        }
    }

    /// Says what a listing lacks.
    pub fn say_what_is_missing(&self) {
        if self.coverage.skipped > 0 {
            tell!(
                "portolan: {} entries of the kernel's tables could not be read and are missing",
                self.coverage.skipped
            );
        }
        if self.coverage.torn {
            tell!(
                "portolan: the kernel's tables changed while they were read: a socket may be \
                 missing or listed twice"
            );
        }
        self.unentered.say();
        // Where processes refused, that was said before.
        if self.owners.hidden_processes() == 0
            && let Some(unheld) = self.told.unheld(user::is_root())
        {
            tell!("portolan: {unheld}");
        }
        if let Some(gaps) = self.told.unexpected(self.config, self.method) {
            tell!("portolan: {gaps}");
        }
    }
}

fn method(config: &Config) -> anyhow::Result<MethodName> {
    if let Some(method) = config.method {
        return Ok(method);
    }
    let queries = config.queries();
    let wish = Wish { query: &queries[0], owners: config.needs_owners, again: false };
    Ok(choose(&wish).context("cannot list the sockets of this host")?.method)
}

/// Both may have a program to load.
fn method_beside_owners(config: &Config) -> (anyhow::Result<MethodName>, anyhow::Result<Owners>) {
    thread::scope(|scope| {
        let owners = scope.spawn(owners);
        let method = method(config);
        (method, owners.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

fn owners() -> anyhow::Result<Owners> {
    let mut owners = Owners::from(Source::choose(false));
    owners.walk().context("cannot find out who holds the sockets")?;
    Ok(owners)
}

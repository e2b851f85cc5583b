//! Network namespaces that are missing: how many, why, and what to do, in one sentence.

use std::{collections::HashSet, error::Error as _, io};

use portolan_flow::NetnsId;
use portolan_sockets::{Error, Hidden, Place, hidden_processes};
use rustix::io::Errno;

/// The namespaces that could not be listed.
#[derive(Debug, Default)]
pub struct Unentered {
    /// Processes that do not show in which ones they live.
    hidden: usize,
    /// Those that may not be entered.
    refused: HashSet<NetnsId>,
    /// The others, and what stood against them.
    failed: Vec<(NetnsId, Error)>,
}

impl Unentered {
    /// None yet, but so many processes would not show in which namespaces they live.
    pub fn beside(hidden: usize) -> Self {
        Self { hidden, ..Self::default() }
    }

    /// Takes in why a namespace could not be listed; each counts once.
    pub fn add(&mut self, place: &Place, error: Error) {
        let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
        let errno = cause.and_then(Errno::from_io_error);
        match errno {
            Some(Errno::ACCESS | Errno::PERM) => drop(self.refused.insert(place.netns)),
            _ if error.means_an_end() => {}
            _ if self.failed.iter().any(|(netns, _)| *netns == place.netns) => {}
            _ => self.failed.push((place.netns, error)),
        }
    }

    /// What to say of them.
    pub fn sentences(&self) -> Vec<String> {
        let hidden = (self.hidden > 0).then(|| hidden_processes(self.hidden));
        let missing = match (self.refused.len(), hidden) {
            (0, None) => None,
            (0, Some(hidden)) => Some(format!("may be missing, because {hidden}")),
            (count, None) => Some(format!("are missing: {count} cannot be entered")),
            (count, Some(hidden)) => Some(format!(
                "are missing: {count} cannot be entered, and perhaps others, because {hidden}"
            )),
        };
        let mut sentences: Vec<String> =
            self.failed.iter().map(|(_, error)| error.to_string()).collect();
        sentences.extend(missing.map(|missing| {
            format!("network namespaces {missing} ({})", Hidden::Namespaces.advice())
        }));
        sentences
    }

    /// Says it.
    pub fn say(&self) {
        self.sentences().iter().for_each(|sentence| tell!("portolan: {sentence}"));
    }
}

#[cfg(test)]
mod tests;

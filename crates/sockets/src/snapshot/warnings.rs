//! What a reading could not see: warnings that stay the same as long as their reason does.

use std::{
    io,
    time::{Duration, Instant},
};

use rustix::io::Errno;

use crate::{Coverage, Error, Hidden};

/// The same text each time, so that it is not news.
pub(super) fn of_coverage(coverage: Coverage) -> impl Iterator<Item = String> {
    let skipped = "some entries of the kernel's socket tables could not be read";
    let torn = "the kernel's socket tables changed while they were read, twice in a row: \
                some sockets may be missing or counted twice";
    let warnings = [(coverage.skipped > 0, skipped), (coverage.torn, torn)];
    warnings.into_iter().filter(|(applies, _)| *applies).map(|(_, text)| text.to_owned())
}

/// So long it is said that events were lost: where that happens now and then, it is said all the
/// time, and is not news again and again.
const LOST_LATELY: Duration = Duration::from_secs(60);

/// The same text each time, whatever was lost.
pub(super) fn of_events(rewalked: Option<Instant>, is_full: bool) -> impl Iterator<Item = String> {
    let lost = "some of the kernel's events did not come within the last minute, so all sockets \
                were read again: nothing is missing, but such a reading takes longer";
    let full = "there are more sockets than can be followed by events: the others are missing; \
                --listing diag reads all";
    let lately = rewalked.is_some_and(|at| at.elapsed() < LOST_LATELY);
    let warnings = [(lately, lost), (is_full, full)];
    warnings.into_iter().filter(|(applies, _)| *applies).map(|(_, text)| text.to_owned())
}

/// The namespaces that could not be opened.
#[derive(Debug, Default)]
pub(super) struct Unopened {
    /// Those that may not be entered.
    refused: usize,
    /// The others, and what stood against the first of them.
    failed: usize,
    cause: Option<Error>,
}

impl Unopened {
    pub fn add(&mut self, error: Error) {
        let cause = std::error::Error::source(&error).and_then(|it| it.downcast_ref::<io::Error>());
        match cause.and_then(Errno::from_io_error) {
            Some(Errno::ACCESS | Errno::PERM) => self.refused += 1,
            _ if error.means_an_end() => {}
            _ => {
                self.failed += 1;
                self.cause.get_or_insert(error);
            }
        }
    }

    pub fn warnings(self) -> impl Iterator<Item = String> {
        let refused = (self.refused > 0).then(|| {
            format!(
                "{} other network namespaces (containers) cannot be entered: {}",
                self.refused,
                Hidden::Namespaces.advice()
            )
        });
        let failed = self.cause.map(|cause| {
            format!(
                "{} other network namespaces (containers) are missing; of the first: {cause}",
                self.failed
            )
        });
        refused.into_iter().chain(failed)
    }
}

#[cfg(test)]
mod tests;

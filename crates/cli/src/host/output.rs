//! Standard output, whose reader may be slow.

use std::{io, time::Duration};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Whether a line can be written without waiting for its reader; waits so long for that at most. A
/// reader that is gone is for who writes.
pub fn is_ready(longest: Duration) -> bool {
    let stdout = io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::OUT)];
    let longest = Timespec {
        tv_sec: i64::try_from(longest.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: longest.subsec_nanos().into(),
    };
    !matches!(poll(&mut fds, Some(&longest)), Ok(0))
}

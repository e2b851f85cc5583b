//! The terminal that standard output goes to.

use std::io;

/// Columns and rows of the terminal on standard output; `None` where it is no terminal.
#[must_use]
pub fn size() -> Option<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some((size.ws_col, size.ws_row))
}

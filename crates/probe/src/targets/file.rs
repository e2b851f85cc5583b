//! Lists of targets, as nmap's `-iL` reads them.

use super::{FileError, Target};
use crate::ports::Services;

/// The targets of a file, with their line from 1: separated by blanks or line ends, and `#` begins
/// a comment. Commas do not separate, because lists of octets have them. After an error the
/// iterator goes on, for a caller that wants all of them.
pub fn parse_file<'a>(
    text: &'a str,
    services: Services<'a>,
) -> impl Iterator<Item = Result<(usize, Target), FileError>> + 'a {
    // Windows' editors begin a file with this mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..).zip(text.lines()).flat_map(move |(line, content)| {
        let targets = content.split('#').next().unwrap_or_default();
        targets.split_whitespace().map(move |target| match Target::parse(target, services) {
            Ok(target) => Ok((line, target)),
            Err(error) => Err(FileError { line, error }),
        })
    })
}

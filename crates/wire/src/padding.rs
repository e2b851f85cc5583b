//! What stands between options: the same of IPv4 (RFC 791, section 3.1) and of TCP (RFC 9293,
//! section 3.1).

/// The end of the options.
const END: u8 = 0;

/// An option of one byte that says nothing.
pub(crate) const NO_OPERATION: u8 = 1;

/// The options from the first on that says something; `None` if none does.
#[inline]
pub(crate) fn skip(mut options: &[u8]) -> Option<&[u8]> {
    loop {
        match *options {
            [] | [END, ..] => return None,
            [NO_OPERATION, ref rest @ ..] => options = rest,
            _ => return Some(options),
        }
    }
}

//! What a device can do itself, by the names that `ethtool -k` shows (linux/ethtool.h). Their
//! numbers differ between kernels, so the names are asked for first.

use std::{
    collections::BTreeSet,
    io,
    os::fd::{AsRawFd, OwnedFd},
};

use rustix::net::{AddressFamily, SocketType};

const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETHTOOL_GFEATURES: u32 = 0x3a;
/// `ETH_SS_FEATURES`: the set of strings that name features.
const FEATURES: u32 = 4;
/// `ETH_GSTRING_LEN`.
const NAME_BYTES: usize = 32;
/// More than any kernel has, so that its answer cannot ask for much memory.
const FEATURES_MAX: usize = 1_024;

/// The features that are active on an interface, such as `tx-tcp-segmentation`.
///
/// # Errors
/// `ENODEV` where there is none of the name, `EOPNOTSUPP` where the device cannot be asked.
pub fn features(name: &str) -> io::Result<BTreeSet<String>> {
    // struct ethtool_sset_info: command, reserved, mask of 64 bits, one count per bit.
    let mut info = vec![0_u32; 5];
    info[0] = ETHTOOL_GSSET_INFO;
    info[2..4].copy_from_slice(&mask(1 << FEATURES));
    ethtool(name, &mut info)?;
    let count = usize::try_from(info[4]).unwrap_or(usize::MAX);
    if count > FEATURES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // struct ethtool_gstrings: command, set, count, strings.
    let mut strings = vec![0_u32; 3 + count * NAME_BYTES / 4];
    (strings[0], strings[1]) = (ETHTOOL_GSTRINGS, FEATURES);
    strings[2] = number(count);
    ethtool(name, &mut strings)?;
    // struct ethtool_gfeatures: command, count of blocks; a block has the bits of 32 features:
    // available, requested, active, never changed.
    let blocks = count.div_ceil(32);
    let mut bits = vec![0_u32; 2 + blocks * 4];
    (bits[0], bits[1]) = (ETHTOOL_GFEATURES, number(blocks));
    ethtool(name, &mut bits)?;
    let names = strings[3..].chunks_exact(NAME_BYTES / 4).map(name_of).enumerate();
    let is_active = |at: usize| bits[2 + at / 32 * 4 + 2] & 1 << (at % 32) != 0;
    Ok(names.filter(|(at, _)| is_active(*at)).map(|(_, name)| name).collect())
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// A mask as two words in the order that they have in memory.
fn mask(mask: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = mask.to_ne_bytes();
    [u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])]
}

fn name_of(words: &[u32]) -> String {
    let bytes = words.iter().flat_map(|word| word.to_ne_bytes());
    let bytes: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// One of the three requests above. Each says itself how many strings or blocks there is room for,
/// which `words` has; the count of strings never changes while the kernel runs.
fn ethtool(name: &str, words: &mut [u32]) -> io::Result<()> {
    let socket: OwnedFd = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let mut request = super::request(name)?;
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: SIOCETHTOOL reads and writes one ifreq and, behind its pointer, the structure of the
    // request, for which `words` has room: the kernel writes one word for the one bit of the mask,
    // as many strings as features exist (which was asked for before), as many blocks as it is told.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests;

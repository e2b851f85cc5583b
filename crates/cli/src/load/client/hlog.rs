//! Histograms in the log format of HdrHistogram, version 1.3, that its own tools read: a line for
//! each interval and each kind of time, told apart by tags.
//!
//! A line ends with the histogram in its encoding V2 (counts as ZigZag LEB128, runs of zeros as one
//! negative number), in a zlib stream (RFC 1950) whose blocks are stored, in base64.

use std::{
    fmt::Write,
    time::{SystemTime, UNIX_EPOCH},
};

use portolan_load::{Interval, Measured, Times};

/// Three digits of values from 1 ns to an hour: as [`Times`] are recorded.
const DIGITS: u32 = 3;
const HIGHEST: u64 = 3_600_000_000_000;

/// A power of two, at least twice what three digits need.
const SUB_BUCKETS: u64 = 2_048;

const COOKIE: u32 = 0x1c84_9313;
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;

/// A stored block of RFC 1951 has at most so many bytes.
const BLOCK: usize = 65_535;

/// The first lines.
pub(super) fn head() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    format!(
        "#[Histogram log format version 1.3]\n\
         #[values are nanoseconds, Interval_Max is milliseconds]\n\
         #[StartTime: {now:.3} (seconds since epoch)]\n\
         #[BaseTime: {now:.3} (seconds since epoch)]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
         \"Interval_Compressed_Histogram\"\n"
    )
}

/// A line for each kind of time that has been measured in the interval.
pub(super) fn lines(interval: &Interval, measured: &Measured) -> String {
    let mut out = String::new();
    for (name, times) in measured.by_name() {
        if times.count() == 0 {
            continue;
        }
        let (begin, length) = (interval.begin_seconds, interval.seconds);
        let histogram = base64(&compressed(&encoded(times)));
        let _ = write!(out, "Tag={name},{begin:.3},{length:.3},{:.3},", milliseconds(times));
        out.push_str(&histogram);
        out.push('\n');
    }
    out
}

#[allow(clippy::cast_precision_loss, reason = "for people")]
fn milliseconds(times: &Times) -> f64 {
    times.quantile(1.0) as f64 / 1e6
}

/// Where the value is counted (`countsArrayIndex` of HdrHistogram).
fn index(value: u64) -> u64 {
    let bucket = 64 - u64::from((value | (SUB_BUCKETS - 1)).leading_zeros()) - 11;
    ((bucket + 1) << 10) + (value >> bucket) - SUB_BUCKETS / 2
}

fn encoded(times: &Times) -> Vec<u8> {
    let mut counts = Vec::new();
    let mut next = 0;
    for (value, count) in times.recorded() {
        let at = index(value);
        if at > next {
            let zeros = i64::try_from(at - next).unwrap_or(0);
            leb128(&mut counts, -zeros);
        }
        leb128(&mut counts, i64::try_from(count).unwrap_or(i64::MAX));
        next = at + 1;
    }
    let mut out = Vec::with_capacity(40 + counts.len());
    out.extend(COOKIE.to_be_bytes());
    out.extend(length(&counts).to_be_bytes());
    out.extend(0_u32.to_be_bytes());
    out.extend(DIGITS.to_be_bytes());
    out.extend(1_u64.to_be_bytes());
    out.extend(HIGHEST.to_be_bytes());
    out.extend(1.0_f64.to_be_bytes());
    out.extend(counts);
    out
}

/// ZigZag, then seven bits a byte; the ninth byte, if it comes to that, has eight.
fn leb128(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    for _ in 0..8 {
        let [low, ..] = rest.to_le_bytes();
        rest >>= 7;
        if rest == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
    out.push(rest.to_le_bytes()[0]);
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let blocks = bytes.chunks(BLOCK).count();
    for (block, nth) in bytes.chunks(BLOCK).zip(1..) {
        stream.push(u8::from(nth == blocks));
        let size = u16::try_from(block.len()).unwrap_or(u16::MAX);
        stream.extend(size.to_le_bytes());
        stream.extend((!size).to_le_bytes());
        stream.extend_from_slice(block);
    }
    stream.extend(adler32(bytes).to_be_bytes());
    let mut out = Vec::with_capacity(8 + stream.len());
    out.extend(COMPRESSED_COOKIE.to_be_bytes());
    out.extend(length(&stream).to_be_bytes());
    out.extend(stream);
    out
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

/// RFC 1950, section 8.2.
fn adler32(bytes: &[u8]) -> u32 {
    let (mut low, mut high) = (1_u32, 0_u32);
    for &byte in bytes {
        low = (low + u32::from(byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    high << 16 | low
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |nth: usize| u32::from(group.get(nth).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for nth in 0..4 {
            let six = usize::try_from(bits >> (18 - 6 * nth) & 63).unwrap_or(0);
            let has_bits = usize::try_from(nth).is_ok_and(|nth| nth <= group.len());
            out.push(if has_bits { char::from(ALPHABET[six]) } else { '=' });
        }
    }
    out
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[cfg(test)]
mod tests;

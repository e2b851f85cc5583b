//! Numbers as people read them.

/// A time in microseconds, with three digits or so: `850 µs`, `12.3 ms`, `1.23 s`.
#[must_use]
pub fn time(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..9_995 => tenths(micros, 1_000, 2, "ms"),
        9_995..99_950 => tenths(micros, 1_000, 1, "ms"),
        99_950..999_500 => tenths(micros, 1_000, 0, "ms"),
        999_500..9_995_000 => tenths(micros, 1_000_000, 2, "s"),
        _ => tenths(micros, 1_000_000, 1, "s"),
    }
}

/// A size in KiB as MiB with one decimal.
#[must_use]
pub fn mib(kib: u64) -> String {
    tenths(kib, 1_024, 1, "MiB")
}

/// Digits in groups of three.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number of `unit`: microseconds as a time, whole numbers as they are, two decimals of others
/// unless they are large.
#[must_use]
pub fn number(value: f64, unit: &str) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "for people")]
    let rounded = value.round().max(0.0) as u64;
    match unit {
        "us" if value < 100.0 && value.fract() != 0.0 => format!("{value:.2} µs"),
        "us" => time(rounded),
        _ if value.fract() == 0.0 || value >= 100.0 => grouped(rounded),
        _ => format!("{value:.2}"),
    }
}

/// A factor, with three digits or so: `0.04×`, `3.1×`, `38×`.
#[must_use]
pub fn factor(ratio: f64) -> String {
    match ratio {
        ..0.995 => format!("{ratio:.2}×"),
        0.995..9.95 => format!("{ratio:.1}×"),
        _ => format!("{ratio:.0}×"),
    }
}

fn tenths(value: u64, unit: u64, decimals: usize, name: &str) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a few digits are shown")]
    let value = value as f64 / unit as f64;
    format!("{value:.decimals$} {name}")
}

#[cfg(test)]
mod tests;

//! How much, in few characters: numbers and times for people.
//!
//! In a sentence there is a space before the unit, and no more digits than say something; in a
//! column of a fixed width there is neither, and a number that changes does not jump.

/// For a sentence: `0.4`, `12`, `3.5k`.
pub fn short(value: f64) -> String {
    let units = ["", "k", "M", "G", "T"];
    let (value, unit) = scaled(value, units.len());
    format!("{}{}", digits(value), units[unit])
}

/// For a sentence: `48 B`, `1.2 MB`.
pub fn size(value: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let (value, unit) = scaled(value, units.len());
    format!("{} {}", digits(value), units[unit])
}

/// For a sentence: `43 us`, `0.4 ms`, `1.2 s`.
pub fn time(us: u64) -> String {
    let ms = ms(us);
    match us {
        0..100 => format!("{us} us"),
        100..999_500 => format!("{} ms", digits(ms)),
        _ => format!("{} s", digits(ms / 1000.0)),
    }
}

/// For a column, in at most five characters: `0`, `<0.1`, `3.4`, `120`, `3.4k`, `34k`, `340M`.
pub fn narrow(value: f64) -> String {
    match value {
        ..=0.0 => "0".to_owned(),
        ..0.1 => "<0.1".to_owned(),
        ..999.5 => digits(value),
        _ => {
            let units = ["", "k", "M", "G", "T", "P"];
            let (value, unit) = scaled(value, units.len());
            format!("{}{}", rounded(value), units[unit])
        }
    }
}

/// For a column, in at most five characters: `85us`, `1.2ms`, `85ms`, `1.5s`.
pub fn narrow_time(us: u64) -> String {
    let ms = ms(us);
    match us {
        0..1000 => format!("{us}us"),
        1000..999_500 => format!("{}ms", rounded(ms)),
        _ => format!("{}s", rounded(ms / 1000.0)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a time for people")]
fn ms(us: u64) -> f64 {
    us as f64 / 1000.0
}

/// A value below a thousand, as far as there are units, and which unit that is.
fn scaled(mut value: f64, units: usize) -> (f64, usize) {
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units {
        value /= 1000.0;
        unit += 1;
    }
    (value, unit)
}

/// As [`rounded`], without a zero that says nothing; something is never nothing.
fn digits(value: f64) -> String {
    if value > 0.0 && value < 0.05 {
        return "<0.1".to_owned();
    }
    let text = rounded(value);
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// One decimal below ten, none above.
fn rounded(value: f64) -> String {
    let decimals = usize::from(value < 9.95);
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests;

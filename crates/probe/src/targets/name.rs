//! What a host name may look like (RFC 952 as changed by RFC 1123 section 2.1).

use super::TargetProblem;

/// Accepts letters, digits, hyphens and, because networks have such names, underscores; a dot at
/// the end is the root's.
pub(super) fn check(text: &str) -> Result<(), TargetProblem> {
    let name = text.strip_suffix('.').unwrap_or(text);
    let strange =
        |character: &char| !(character.is_ascii_alphanumeric() || "-_.".contains(*character));
    if let Some(character) = name.chars().find(strange) {
        return Err(TargetProblem::Character(character));
    }
    // 255 octets with the lengths of the labels and the root: RFC 1035 section 2.3.4.
    if name.len() > 253 {
        return Err(TargetProblem::Name);
    }
    for label in name.split('.') {
        if !(1..=63).contains(&label.len()) {
            return Err(TargetProblem::Label);
        }
        if label.starts_with('-') || label.ends_with('-') {
            return Err(TargetProblem::Hyphen);
        }
    }
    let last = name.rsplit('.').next().unwrap_or(name);
    if is_number(last) { Err(TargetProblem::NumberedName) } else { Ok(()) }
}

/// `inet_aton(3)` would take such a name for an address: another host than the one that was meant.
/// Browsers have the same rule (WHATWG URL section 3.5, "ends in a number").
fn is_number(label: &str) -> bool {
    let hexadecimal = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

//! What `--kill` takes for a filter, so that not every connection is closed by mistake.

use anyhow::{bail, ensure};
use portolan_sockets::{Filter, State};

/// Checks that a filter does not mean every connection there is.
///
/// # Errors
/// When it does, as far as can be told without looking at sockets: a negation may still be true of
/// nearly all.
pub fn ensure_narrow(filter: Option<&Filter>) -> anyhow::Result<()> {
    let Some(filter) = filter else {
        bail!(
            "--kill needs a filter, so that not every connection is closed: say which, such as \
             dst 10.0.0.1 dport = :443"
        )
    };
    if !filter.states().contains(State::Established) {
        return Ok(());
    }
    ensure!(
        filter.has_expression(),
        "--kill needs a filter that names more than states where ESTAB is one of them, so that \
         not every connection is closed: say which, such as dst 10.0.0.1 dport = :443"
    );
    ensure!(
        simplified(filter).has_expression(),
        "--kill needs a filter that some connection fails, and of {filter} none of a version of IP \
         does: say which to close, such as dst 10.0.0.1 dport = :443"
    );
    Ok(())
}

/// The filter with `*` for what every address of a version or every port is.
fn simplified(filter: &Filter) -> Filter {
    // How a filter is written is one way for each meaning, with a space between any two words.
    let text = filter.to_string();
    let words: Vec<&str> = text.split(' ').collect();
    let mut simple = Vec::with_capacity(words.len());
    let mut rest = &*words;
    while let [first, after @ ..] = rest {
        rest = match rest {
            ["src" | "dst", address, after @ ..] if is_any(address) => {
                simple.push("src *");
                after
            }
            ["sport" | "dport", ">=", ":0", after @ ..]
            | ["sport" | "dport", "<=", ":65535", after @ ..] => {
                simple.push("src *");
                after
            }
            ["sport" | "dport", "<", ":0", after @ ..]
            | ["sport" | "dport", ">", ":65535", after @ ..] => {
                simple.push("not src *");
                after
            }
            _ => {
                simple.push(*first);
                after
            }
        };
    }
    // It reads as it was written, unless it is too long by now; then it is narrow enough.
    Filter::parse(&simple.join(" ")).unwrap_or_else(|_| filter.clone())
}

/// Whether every address of a version is meant, and every port.
fn is_any(address: &str) -> bool {
    let prefix = address.strip_prefix("inet:").or_else(|| address.strip_prefix("inet6:"));
    let prefix = prefix.unwrap_or(address);
    prefix == "*" || prefix.ends_with("/0") || prefix.ends_with("/0]")
}

#[cfg(test)]
mod tests;

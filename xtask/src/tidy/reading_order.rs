//! Each library says in which order to read its files, and they exist.

use crate::tree::{Tree, Violation};

const RULE: &str = "reading order";

const OPENING: &str = "Read in this order";

pub fn check(tree: &Tree) -> Vec<Violation> {
    let roots = tree.files().filter(|path| is_root_of_library(path));
    roots.flat_map(|path| check_root(tree, path)).collect()
}

fn is_root_of_library(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts[..], ["crates", _, "src", "lib.rs"])
}

fn check_root(tree: &Tree, path: &str) -> Vec<Violation> {
    let text = tree.text(path).unwrap_or_default();
    let at = |line, message| Violation { path: path.to_owned(), line, rule: RULE, message };
    if !text.starts_with("//!") {
        return vec![at(1, "open with `//!` and the crate's one idea".to_owned())];
    }
    let order = paragraph(&text);
    let names = order.iter().flat_map(|&(line, text)| {
        text.split('`')
            .skip(1)
            .step_by(2)
            .filter(|name| is_file(name))
            .map(move |name| (line, name))
    });
    let names: Vec<(usize, &str)> = names.collect();
    if names.is_empty() {
        let message = format!("the top comment lacks `{OPENING}: `a.rs`, ...`; add it at its end");
        return vec![at(1, message)];
    }
    let source = path.trim_end_matches("lib.rs");
    let root = source.trim_end_matches("src/");
    names
        .into_iter()
        .filter(|(_, name)| {
            let name = name.trim_end_matches('/');
            !tree.has(&format!("{source}{name}")) && !tree.has(&format!("{root}{name}"))
        })
        .map(|(line, name)| at(line, format!("`{name}` does not exist; name what does")))
        .collect()
}

/// The lines of the top comment from the opening to the end of its paragraph.
fn paragraph(text: &str) -> Vec<(usize, &str)> {
    (1..)
        .zip(text.lines())
        .take_while(|(_, line)| line.starts_with("//!"))
        .skip_while(|(_, line)| !line.contains(OPENING))
        .take_while(|(_, line)| line.trim() != "//!")
        .collect()
}

fn is_file(name: &str) -> bool {
    name.ends_with('/') || (name.contains('.') && !name.contains(' '))
}

#[cfg(test)]
mod tests;

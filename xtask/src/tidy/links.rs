//! Links in the documents lead somewhere.

use std::collections::HashMap;

use crate::tree::{Tree, Violation};

const RULE: &str = "link";

/// The document whose paths in backticks have to exist.
const MAP_OF_THE_CODE: &str = "ARCHITECTURE.md";

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for path in tree.written().filter(|path| path.ends_with(".md")) {
        let text = tree.text(path).unwrap_or_default();
        for (line, content) in prose(&text) {
            let mut report = |message| {
                violations.push(Violation { path: path.to_owned(), line, rule: RULE, message });
            };
            for target in targets(&without_code(content)) {
                if let Some(message) = broken(tree, path, &target) {
                    report(message);
                }
            }
            if path == MAP_OF_THE_CODE {
                for missing in code_spans(content).filter(|span| is_missing(tree, span)) {
                    report(format!("`{missing}` does not exist; name what does"));
                }
            }
        }
    }
    violations
}

/// The lines outside of fenced blocks.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        !fenced && !is_fence
    })
}

fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// The targets of `[text](target)` and of `[name]: target`.
fn targets(line: &str) -> Vec<String> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    let defined = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]: "));
    let defined = defined.and_then(|(_, target)| target.split_whitespace().next());
    inline.chain(defined).map(|target| target.trim_matches(['<', '>']).to_owned()).collect()
}

fn broken(tree: &Tree, from: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let Some(path) = resolve(from, file) else {
        return Some(format!("{target} leads out of the repository"));
    };
    if !tree.has(&path) {
        return Some(format!("{target} leads nowhere: there is no {path}; correct it"));
    }
    let anchors = || anchors(&tree.text(&path).unwrap_or_default());
    let wrong = !anchor.is_empty() && path.ends_with(".md") && !anchors().contains(&anchor.into());
    wrong.then(|| format!("{target}: {path} has no heading for #{anchor}; correct it"))
}

/// The path of `file` as seen from the document `from`.
fn resolve(from: &str, file: &str) -> Option<String> {
    if file.is_empty() {
        return Some(from.to_owned());
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in file.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The anchors of a document's headings, as GitHub makes them.
fn anchors(text: &str) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let headings = prose(text).filter_map(|(_, line)| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len()).then(|| title.strip_prefix(' ')).flatten()
    });
    let slugs = headings.map(slug).map(|slug| {
        let before = seen.entry(slug.clone()).and_modify(|count| *count += 1).or_insert(0);
        if *before == 0 { slug } else { format!("{slug}-{before}") }
    });
    slugs.collect()
}

fn slug(title: &str) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
    title.trim().to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

/// Whether a span looks like a path of the repository and is none.
fn is_missing(tree: &Tree, span: &str) -> bool {
    let is_word = span.chars().all(|letter| letter.is_alphanumeric() || "/._-".contains(letter));
    let is_document = !span.starts_with('.') && span.ends_with(".md");
    let is_path = is_word && !span.starts_with('/') && (span.contains('/') || is_document);
    is_path && !tree.has(span.trim_end_matches('/'))
}

#[cfg(test)]
mod tests;

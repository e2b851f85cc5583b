//! What docs/rfc says of the RFCs is so: each requirement that is said to be implemented names a
//! test, which exists and cites it; what is not has a reason; and none of RFC 9293 is left out.

use std::collections::BTreeMap;

use syn::{
    ItemFn,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::tree::{Source, Tree, Violation};

const RULE: &str = "rfc";
const FOLDER: &str = "docs/rfc/";

/// The document of RFC 9293, whose requirements have names, and the crate that it is about.
const TCP: &str = "docs/rfc/9293.md";
const TCP_CRATE: &str = "crates/stack/";

/// The requirements of RFC 9293, appendix B: each kind, and its last number.
const REQUIREMENTS: [(&str, u8); 4] = [("MUST", 69), ("SHLD", 31), ("MAY", 18), ("REC", 1)];

const STATES: [&str; 3] = ["implemented", "deviates", "not"];

pub fn check(tree: &Tree) -> Vec<Violation> {
    let tests = Tests::of(tree);
    let mut violations = Vec::new();
    let documents = tree.written().filter(|path| path.starts_with(FOLDER) && path.ends_with(".md"));
    for path in documents {
        for row in rows(&tree.text(path).unwrap_or_default()) {
            let messages = tests.problems_of(&row, tree);
            violations.extend(messages.into_iter().map(|message| at(path, row.line, message)));
        }
    }
    if tree.has(TCP_CRATE) {
        violations.extend(check_complete(&tree.text(TCP).unwrap_or_default()));
    }
    violations
}

fn at(path: &str, line: usize, message: String) -> Violation {
    Violation { path: path.to_owned(), line, rule: RULE, message }
}

/// One row of a table whose columns are: requirement or section, what, state, tests or reason.
struct Row {
    line: usize,
    /// The RFC by the last heading that names one, such as `RFC 8985`.
    rfc: String,
    requirement: String,
    state: String,
    /// Names of tests: what stands in backticks.
    tests: Vec<String>,
    /// What else the last column says.
    reason: String,
}

/// The rows of the tables that have a column `state`.
fn rows(text: &str) -> Vec<Row> {
    let (mut rows, mut rfc, mut is_ours) = (Vec::new(), String::new(), false);
    for (line, content) in (1..).zip(text.lines()) {
        if content.starts_with('#') {
            rfc = rfc_of(content).unwrap_or(rfc);
        }
        let Some(inner) = content.trim().strip_prefix('|').and_then(|rest| rest.strip_suffix('|'))
        else {
            is_ours = false;
            continue;
        };
        let cells: Vec<&str> = inner.split('|').map(str::trim).collect();
        let is_head = cells.get(2) == Some(&"state");
        is_ours |= is_head;
        let [requirement, _, state, rest @ ..] = &cells[..] else { continue };
        if !is_ours || is_head || requirement.starts_with("--") {
            continue;
        }
        let rest = rest.join("|");
        rows.push(Row {
            line,
            rfc: rfc.clone(),
            requirement: (*requirement).to_owned(),
            state: (*state).to_owned(),
            tests: rest.split('`').skip(1).step_by(2).map(str::to_owned).collect(),
            reason: rest.split('`').step_by(2).collect::<String>(),
        });
    }
    rows
}

fn rfc_of(heading: &str) -> Option<String> {
    let (_, after) = heading.split_once("RFC ")?;
    let digits = after.split(|letter: char| !letter.is_ascii_digit()).next()?;
    (!digits.is_empty()).then(|| format!("RFC {digits}"))
}

/// The text of every test, by its name: `crate::module::function`, or the path of a scenario.
struct Tests(BTreeMap<String, String>);

impl Tests {
    fn of(tree: &Tree) -> Self {
        let mut tests = BTreeMap::new();
        for source in tree.sources() {
            let mut finder = Finder { source, module: module_of(&source.path), tests };
            finder.visit_file(&source.ast);
            tests = finder.tests;
        }
        Self(tests)
    }

    fn problems_of(&self, row: &Row, tree: &Tree) -> Vec<String> {
        let Row { rfc, requirement, state, .. } = row;
        let mut problems = Vec::new();
        if !STATES.contains(&state.as_str()) {
            problems.push(format!("{requirement}: \"{state}\" is no state; say {STATES:?}"));
        }
        if rfc.is_empty() {
            problems.push(format!("{requirement}: no heading says which RFC it is of; add one"));
        }
        if state == "implemented" && row.tests.is_empty() {
            problems.push(format!("{requirement} has no test; name one in backticks"));
        }
        let has_reason = row.reason.chars().any(char::is_alphabetic);
        if state != "implemented" && !has_reason {
            problems.push(format!("{requirement} is open without a reason; write it"));
        }
        for test in &row.tests {
            match self.text(test, tree) {
                None => problems.push(format!("{requirement}: no test {test}; correct its name")),
                Some(text) if !cites(&text, rfc, requirement) => problems.push(format!(
                    "{test} does not cite {rfc}, {requirement}; say so in its comment"
                )),
                Some(_) => {}
            }
        }
        problems
    }

    fn text(&self, test: &str, tree: &Tree) -> Option<String> {
        let is_file = test.contains('/') && tree.files().any(|file| file == test);
        if is_file { tree.text(test) } else { self.0.get(test).cloned() }
    }
}

/// Finds the functions with `#[test]`.
struct Finder<'a> {
    source: &'a Source,
    module: String,
    tests: BTreeMap<String, String>,
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if item.attrs.iter().any(|attribute| attribute.path().is_ident("test")) {
            let span = item.span();
            let (first, last) = (span.start().line, span.end().line);
            let lines = self.source.text.lines().skip(first - 1).take(last + 1 - first);
            let text = lines.collect::<Vec<_>>().join("\n");
            self.tests.insert(format!("{}::{}", self.module, item.sig.ident), text);
        }
        visit::visit_item_fn(self, item);
    }
}

/// The module of a file: `crates/stack/src/tcp/tests/late.rs` is `stack::tcp::tests::late`, and
/// `crates/stack/tests/internet/udp.rs` is `stack::tests::internet::udp`.
fn module_of(path: &str) -> String {
    let path = path.strip_prefix("crates/").unwrap_or(path);
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let files = ["lib", "main", "mod"];
    let parts: Vec<&str> = path.split('/').collect();
    let last = parts.len().saturating_sub(1);
    let is_part = |(index, part): &(usize, &str)| {
        !(*part == "src" || (*index == last && files.contains(part)))
    };
    let kept: Vec<&str> =
        parts.into_iter().enumerate().filter(is_part).map(|(_, part)| part).collect();
    kept.join("::")
}

/// Whether a test says which requirement it is for. One with a name is cited by that, a section
/// together with its RFC.
fn cites(text: &str, rfc: &str, requirement: &str) -> bool {
    let has = |wanted: &str| {
        text.match_indices(wanted).any(|(start, _)| {
            let before = text[..start].chars().next_back();
            let mut after = text[start + wanted.len()..].chars();
            let is_end = match after.next() {
                Some('.') => !after.next().is_some_and(|letter| letter.is_ascii_digit()),
                Some(letter) => !letter.is_ascii_alphanumeric(),
                None => true,
            };
            is_end && !before.is_some_and(|letter| letter.is_ascii_alphanumeric() || letter == '.')
        })
    };
    has(requirement) && (is_named(requirement) || has(rfc))
}

/// Whether it is a requirement of RFC 9293, such as `MUST-12`.
fn is_named(requirement: &str) -> bool {
    REQUIREMENTS.iter().any(|(kind, _)| {
        requirement.strip_prefix(kind).is_some_and(|number| number.starts_with('-'))
    })
}

/// Each requirement of appendix B stands in the document once.
fn check_complete(text: &str) -> Vec<Violation> {
    let rows = rows(text);
    let mut violations = Vec::new();
    let all = REQUIREMENTS
        .iter()
        .flat_map(|&(kind, last)| (1..=last).map(move |number| format!("{kind}-{number}")));
    let all: Vec<String> = all.collect();
    for wanted in &all {
        let found: Vec<usize> =
            rows.iter().filter(|row| row.requirement == *wanted).map(|row| row.line).collect();
        match found[..] {
            [_] => {}
            [] => violations.push(at(TCP, 1, format!("{wanted} is missing; add its row"))),
            [_, again, ..] => {
                violations.push(at(TCP, again, format!("{wanted} stands twice; keep one row")));
            }
        }
    }
    for row in rows.iter().filter(|row| is_named(&row.requirement)) {
        if !all.contains(&row.requirement) {
            let message = format!("RFC 9293 has no {}; correct it", row.requirement);
            violations.push(at(TCP, row.line, message));
        }
    }
    violations
}

#[cfg(test)]
mod tests;

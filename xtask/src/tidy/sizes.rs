//! How long a file, a function and a line may be.

use syn::{
    ImplItemFn, ItemFn, Signature, TraitItemFn,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::tree::{Source, Tree, Violation, is_test};

const RULE: &str = "size";

const FILE_LINES_MAX: usize = 400;
const TEST_FILE_LINES_MAX: usize = 1000;
const FUNCTION_LINES_MAX: usize = 70;
const LINE_COLUMNS_MAX: usize = 100;

/// Files with a limit of their own, by the end of their path.
const OWN_LIMITS: [(&str, usize); 4] =
    [("main.rs", 60), ("README.md", 150), ("ARCHITECTURE.md", 200), (".bpf.c", 150)];

/// How a file says at its top why it is longer; within so many lines.
const REASON: &str = "tidy: over 400 lines because ";
const TOP_LINES: usize = 20;

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for path in tree.written() {
        let own_limit = OWN_LIMITS.iter().find(|(end, _)| ends_with_name(path, end));
        if !is_source(path) && own_limit.is_none() {
            continue;
        }
        let Some(text) = tree.text(path) else { continue };
        check_file(path, &text, own_limit.map(|&(_, lines)| lines), &mut violations);
        if is_source(path) {
            check_lines(path, &text, &mut violations);
        }
    }
    for function in tree.sources().iter().flat_map(functions) {
        if function.lines > FUNCTION_LINES_MAX {
            let message = format!(
                "fn {} has {} lines, {FUNCTION_LINES_MAX} at most; give a part of it a name",
                function.name, function.lines
            );
            violations.push(at(&function.path, function.line, message));
        }
    }
    violations
}

/// The medians, for people.
pub fn summary(tree: &Tree) -> String {
    let sources = tree.sources().iter().filter(|source| !is_test(&source.path));
    let files: Vec<usize> = sources.clone().map(|source| source.text.lines().count()).collect();
    let functions: Vec<usize> =
        sources.flat_map(functions).map(|function| function.lines).collect();
    format!(
        "tidy: Rust without tests: {} files, {}; {} functions, {}",
        files.len(),
        spread(files.clone()),
        functions.len(),
        spread(functions.clone())
    )
}

fn spread(mut lines: Vec<usize>) -> String {
    lines.sort_unstable();
    let median = lines.get(lines.len() / 2).copied().unwrap_or_default();
    let longest = lines.last().copied().unwrap_or_default();
    format!("median {median} lines, longest {longest}")
}

fn check_file(path: &str, text: &str, own_limit: Option<usize>, into: &mut Vec<Violation>) {
    let general = if is_test(path) { TEST_FILE_LINES_MAX } else { FILE_LINES_MAX };
    let limit = own_limit.unwrap_or(general);
    let lines = text.lines().count();
    let excused = own_limit.is_none() && text.lines().take(TOP_LINES).any(gives_reason);
    if lines > limit && !excused {
        let way_out = match own_limit {
            Some(_) => "say less".to_owned(),
            None => format!("split it by topic, or say `{REASON}...` at its top"),
        };
        into.push(at(path, limit + 1, format!("{lines} lines, {limit} at most; {way_out}")));
    }
}

fn gives_reason(line: &str) -> bool {
    line.split_once(REASON).is_some_and(|(_, reason)| !reason.trim().is_empty())
}

fn check_lines(path: &str, text: &str, into: &mut Vec<Violation>) {
    for (line, content) in (1..).zip(text.lines()) {
        let columns = content.chars().count();
        if columns > LINE_COLUMNS_MAX && !content.contains("://") {
            let message = format!("{columns} columns, {LINE_COLUMNS_MAX} at most; break the line");
            into.push(at(path, line, message));
        }
    }
}

fn at(path: &str, line: usize, message: String) -> Violation {
    Violation { path: path.to_owned(), line, rule: RULE, message }
}

fn is_source(path: &str) -> bool {
    [".rs", ".ts", ".tsx", ".c", ".h"].iter().any(|end| path.ends_with(end))
}

/// Whether the file's name is `end`, or ends with it where `end` is an extension.
fn ends_with_name(path: &str, end: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    if end.starts_with('.') { name.ends_with(end) } else { name == end }
}

struct Function {
    path: String,
    line: usize,
    name: String,
    lines: usize,
}

fn functions(source: &Source) -> Vec<Function> {
    let mut finder = Finder { path: &source.path, found: Vec::new() };
    finder.visit_file(&source.ast);
    finder.found
}

struct Finder<'a> {
    path: &'a str,
    found: Vec<Function>,
}

impl Finder<'_> {
    /// From the signature to the closing brace, without documentation and attributes.
    fn function(&mut self, signature: &Signature, body: &syn::Block) {
        let (first, last) = (signature.span().start().line, body.span().end().line);
        self.found.push(Function {
            path: self.path.to_owned(),
            line: first,
            name: signature.ident.to_string(),
            lines: last - first + 1,
        });
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests;

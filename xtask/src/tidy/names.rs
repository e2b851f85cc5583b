//! Names that say nothing, and macros that a library must not use.

use syn::{
    ItemMod, Macro,
    visit::{self, Visit},
};

use super::syntax;
use crate::tree::{Source, Tree, Violation, crate_of, is_test};

const RULE: &str = "name";

/// A crate or module of this name takes whatever nobody found a place for.
const BANNED: [&str; 9] =
    ["core", "common", "util", "utils", "misc", "helper", "helpers", "manager", "managers"];

/// In a library, results are returned and nothing is left for later.
const BANNED_MACROS: [&str; 7] =
    ["println", "eprintln", "print", "eprint", "dbg", "todo", "unimplemented"];

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for path in tree.written().filter(|path| is_code(path)) {
        for part in path.split('/') {
            let name = part.split('.').next().unwrap_or(part);
            if BANNED.contains(&name) {
                violations.push(banned(path, 1, name));
            }
        }
    }
    for source in tree.sources() {
        let mut finder = Finder { source, is_library: is_library(&source.path), violations };
        finder.visit_file(&source.ast);
        violations = finder.violations;
    }
    violations
}

fn is_code(path: &str) -> bool {
    let in_crate = path.starts_with("crates/") && path.ends_with("Cargo.toml");
    in_crate || [".rs", ".ts", ".tsx", ".c", ".h"].iter().any(|end| path.ends_with(end))
}

/// The program prints, and a build script talks to cargo so; libraries return.
fn is_library(path: &str) -> bool {
    let prints = crate_of(path) == "cli" || path.ends_with("/build.rs") || is_test(path);
    path.starts_with("crates/") && !prints
}

fn banned(path: &str, line: usize, name: &str) -> Violation {
    let message = format!("nothing is called {name}; name it after what it holds");
    Violation { path: path.to_owned(), line, rule: RULE, message }
}

struct Finder<'a> {
    source: &'a Source,
    is_library: bool,
    violations: Vec<Violation>,
}

impl Finder<'_> {
    fn called(&mut self, name: &str, line: usize) {
        if self.is_library && BANNED_MACROS.contains(&name) {
            self.violations.push(Violation {
                path: self.source.path.clone(),
                line,
                rule: RULE,
                message: format!("{name}! in a library; return it, and let the program print"),
            });
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let name = item.ident.to_string();
        // A module in a file of its own is told by the file.
        if item.content.is_some() && BANNED.contains(&name.as_str()) {
            let line = item.mod_token.span.start().line;
            self.violations.push(banned(&self.source.path, line, &name));
        }
        visit::visit_item_mod(self, item);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        if let Some(last) = call.path.segments.last() {
            self.called(&last.ident.to_string(), last.ident.span().start().line);
        }
        syntax::idents(call.tokens.clone(), &mut |name, line, next| {
            if next.is_some_and(|next| next.to_string() == "!") {
                self.called(name, line);
            }
        });
    }
}

#[cfg(test)]
mod tests;

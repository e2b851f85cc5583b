//! Tests live beside the code, in a file of their own.

use syn::{
    ItemFn, ItemMod,
    visit::{self, Visit},
};

use super::syntax;
use crate::tree::{Tree, Violation, is_test};

const RULE: &str = "tests";

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for source in tree.sources().iter().filter(|source| !is_test(&source.path)) {
        let mut finder = Finder { path: &source.path, violations };
        finder.visit_file(&source.ast);
        violations = finder.violations;
    }
    violations
}

struct Finder<'a> {
    path: &'a str,
    violations: Vec<Violation>,
}

impl Finder<'_> {
    fn report(&mut self, line: usize, what: &str) {
        let folder = match self.path.strip_suffix(".rs") {
            Some(stem) if stem.ends_with("/lib") || stem.ends_with("/main") => {
                stem.rsplit_once('/').map_or("", |(folder, _)| folder)
            }
            Some(stem) => stem.trim_end_matches("/mod"),
            None => self.path,
        };
        self.violations.push(Violation {
            path: self.path.to_owned(),
            line,
            rule: RULE,
            message: format!("{what} amid the code; move it to {folder}/tests.rs"),
        });
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if item.content.is_some() && syntax::is_cfg_test(&item.attrs) {
            self.report(item.mod_token.span.start().line, "a module of tests");
        } else {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        let is_test = |last: &syn::PathSegment| last.ident == "test";
        if item.attrs.iter().any(|one| one.path().segments.last().is_some_and(is_test)) {
            self.report(item.sig.fn_token.span.start().line, "a test");
        }
    }
}

#[cfg(test)]
mod tests;

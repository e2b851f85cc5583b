//! `unsafe` only at the edge, and never without its reason.

use syn::{
    Attribute, ExprUnsafe, ItemForeignMod, ItemImpl, ItemTrait, Macro, Safety, Signature, Stmt,
    spanned::Spanned,
    visit::{self, Visit},
};

use super::syntax;
use crate::tree::{Source, Tree, Violation, crate_of};

const RULE: &str = "unsafe";

/// Crates that may hold `unsafe`: the edges to the kernel.
const EDGES: [&str; 1] = ["sys"];

/// Crates that forbid it, and I/O with it.
const PURE: [&str; 4] = ["flow", "plot", "wire", "stack"];

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for source in tree.sources() {
        let crate_name = crate_of(&source.path);
        if PURE.iter().any(|pure| source.path == format!("crates/{pure}/src/lib.rs"))
            && !forbids_unsafe(&source.ast)
        {
            violations.push(Violation {
                path: source.path.clone(),
                line: 1,
                rule: RULE,
                message: format!("{crate_name} is pure: add #![forbid(unsafe_code)]"),
            });
        }
        let at_edge = source.path.starts_with("crates/") && EDGES.contains(&crate_name);
        for found in find(source) {
            let message = if !at_edge {
                format!(
                    "{} in {crate_name}; only {} may: call the system from there",
                    found.what,
                    EDGES.join(", ")
                )
            } else if !found.explained {
                format!("{} without its reason; put `// SAFETY: ...` directly above", found.what)
            } else {
                continue;
            };
            let path = source.path.clone();
            violations.push(Violation { path, line: found.line, rule: RULE, message });
        }
    }
    violations
}

fn forbids_unsafe(file: &syn::File) -> bool {
    file.attrs.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => {
            list.path.is_ident("forbid") && list.tokens.to_string().contains("unsafe_code")
        }
        _ => false,
    })
}

struct Found {
    line: usize,
    what: &'static str,
    explained: bool,
}

fn find(source: &Source) -> Vec<Found> {
    let lines: Vec<&str> = source.text.lines().collect();
    let mut finder = Finder { lines, statement: None, found: Vec::new() };
    finder.visit_file(&source.ast);
    finder.found
}

struct Finder<'a> {
    lines: Vec<&'a str>,
    /// The line on which the innermost statement begins.
    statement: Option<usize>,
    found: Vec<Found>,
}

impl Finder<'_> {
    fn expression(&mut self, what: &'static str, line: usize) {
        let above_statement = self.statement.is_some_and(|first| self.is_explained(first, false));
        let explained = above_statement || self.is_explained(line, false);
        self.found.push(Found { line, what, explained });
    }

    fn item(&mut self, what: &'static str, line: usize) {
        let explained = self.is_explained(line, true);
        self.found.push(Found { line, what, explained });
    }

    /// Whether the comments above a line, with attributes between, give a reason. An item may
    /// give it as the `# Safety` section of its documentation.
    fn is_explained(&self, line: usize, is_item: bool) -> bool {
        let above = self.lines[..line - 1].iter().rev().map(|line| line.trim());
        above
            .take_while(|line| line.starts_with("//") || line.starts_with("#["))
            .any(|line| line.starts_with("// SAFETY: ") || (is_item && line == "/// # Safety"))
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        let outer = self.statement.replace(statement.span().start().line);
        visit::visit_stmt(self, statement);
        self.statement = outer;
    }

    fn visit_expr_unsafe(&mut self, block: &'ast ExprUnsafe) {
        self.expression("unsafe block", block.unsafe_token.span.start().line);
        visit::visit_expr_unsafe(self, block);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if let Some(token) = item.unsafety {
            self.item("unsafe impl", token.span.start().line);
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        if let Some(token) = item.unsafety {
            self.item("unsafe trait", token.span.start().line);
        }
        visit::visit_item_trait(self, item);
    }

    // What is declared inside is explained with the block.
    fn visit_item_foreign_mod(&mut self, item: &'ast ItemForeignMod) {
        self.item("extern block", item.abi.extern_token.span.start().line);
    }

    fn visit_signature(&mut self, signature: &'ast Signature) {
        if let Safety::Unsafe(token) = signature.safety {
            self.item("unsafe fn", token.span.start().line);
        }
        visit::visit_signature(self, signature);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if attribute.path().is_ident("unsafe") {
            self.item("unsafe attribute", attribute.pound_token.span.start().line);
        }
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        syntax::idents(call.tokens.clone(), &mut |name, line, _| {
            if name == "unsafe" {
                self.expression("unsafe in a macro", line);
            }
        });
    }
}

#[cfg(test)]
mod tests;

//! The rules of the repository that a program can check, one module per rule.

use std::{path::Path, process::ExitCode};

use anyhow::Result;

use crate::tree::{Tree, Violation};

mod directions;
mod leaks;
mod links;
mod names;
mod reading_order;
pub mod reference;
mod rfc;
mod sizes;
mod syntax;
mod test_places;
mod unsafety;

type Rule = fn(&Tree) -> Vec<Violation>;

/// The rules that need nothing but the files.
const RULES: [Rule; 8] = [
    unsafety::check,
    sizes::check,
    names::check,
    links::check,
    leaks::check,
    reading_order::check,
    test_places::check,
    rfc::check,
];

/// Checks every rule; status 1 where one is broken.
pub fn run(root: &Path) -> Result<ExitCode> {
    let tree = Tree::of_repository(root)?;
    let mut violations = tree.unreadable().to_vec();
    violations.extend(RULES.iter().flat_map(|rule| rule(&tree)));
    violations.extend(directions::check(&directions::metadata(root)?)?);
    violations.extend(reference::check(&tree));
    violations.sort();
    for Violation { path, line, rule, message } in &violations {
        println!("{path}:{line}: {rule}: {message}");
    }
    println!("{}", sizes::summary(&tree));
    Ok(match violations.len() {
        0 => {
            println!("tidy: {} files, no rule broken", tree.files().count());
            ExitCode::SUCCESS
        }
        count => {
            println!("tidy: {} files, rules broken in {count} places", tree.files().count());
            ExitCode::FAILURE
        }
    })
}

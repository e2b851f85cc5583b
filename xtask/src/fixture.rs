//! Small trees for the tests of the rules.

use std::fs;

use tempfile::TempDir;

use crate::tree::{Tree, Violation};

/// A folder with these files in it.
pub struct Fixture {
    folder: TempDir,
    paths: Vec<String>,
}

impl Fixture {
    pub fn of(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (path, content) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, content).expect("a file");
        }
        Self { folder, paths: files.iter().map(|(path, _)| (*path).to_owned()).collect() }
    }

    pub fn tree(&self) -> Tree {
        Tree::of_files(self.folder.path(), self.paths.iter().map(String::as_str))
    }
}

/// What `rule` says about a tree of these files, as `path:line`.
pub fn places(rule: impl Fn(&Tree) -> Vec<Violation>, files: &[(&str, &str)]) -> Vec<String> {
    let mut violations = rule(&Fixture::of(files).tree());
    violations.sort();
    violations.iter().map(|found| format!("{}:{}", found.path, found.line)).collect()
}

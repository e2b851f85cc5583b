//! The files of the repository, as the rules see them.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

/// Folders whose content is made, not written.
const MADE: [&str; 4] = ["target/", "web/dist/", "web/node_modules/", "artefacts/"];

/// One broken rule at one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    pub path: String,
    pub line: usize,
    pub rule: &'static str,
    /// What is wrong, and what to do.
    pub message: String,
}

/// The repository: its root, and the paths of its files relative to that.
pub struct Tree {
    root: PathBuf,
    files: BTreeSet<String>,
    sources: Vec<Source>,
    unreadable: Vec<Violation>,
}

/// A Rust file.
pub struct Source {
    pub path: String,
    pub text: String,
    pub ast: syn::File,
}

impl Tree {
    /// The tracked files, and those that would be if they were added.
    pub fn of_repository(root: &Path) -> Result<Self> {
        let listed = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .context("cannot run git: install it")?;
        ensure!(
            listed.status.success(),
            "git ls-files failed: {}",
            String::from_utf8_lossy(&listed.stderr).trim()
        );
        let names = String::from_utf8(listed.stdout).context("a file name is not UTF-8")?;
        Ok(Self::of_files(root, names.split('\0').filter(|name| !name.is_empty())))
    }

    /// The given files, as far as they exist.
    pub fn of_files<'a>(root: &Path, files: impl Iterator<Item = &'a str>) -> Self {
        let files: BTreeSet<String> =
            files.filter(|file| root.join(file).is_file()).map(str::to_owned).collect();
        let mut tree =
            Self { root: root.to_path_buf(), files, sources: Vec::new(), unreadable: Vec::new() };
        let rust: Vec<String> =
            tree.written().filter(|path| path.ends_with(".rs")).map(str::to_owned).collect();
        for path in rust {
            let Some(text) = tree.text(&path) else { continue };
            match syn::parse_file(&text) {
                Ok(ast) => tree.sources.push(Source { path, text, ast }),
                Err(error) => tree.unreadable.push(Violation {
                    path,
                    line: error.span().start().line,
                    rule: "parse",
                    message: format!("is not Rust ({error}); make it compile"),
                }),
            }
        }
        tree
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Every file.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// The files that somebody wrote.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        self.files().filter(|path| !MADE.iter().any(|made| path.starts_with(made)))
    }

    /// The Rust files that somebody wrote.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Rust files that no rule could look into.
    pub fn unreadable(&self) -> &[Violation] {
        &self.unreadable
    }

    /// A file's content; `None` where it is not text.
    pub fn text(&self, path: &str) -> Option<String> {
        let bytes = fs::read(self.root.join(path)).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        (!text.contains('\0')).then_some(text)
    }

    /// Whether there is such a file, or a folder with files in it. The root is the empty path.
    pub fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        path.is_empty()
            || self.files.contains(path)
            || self.files.iter().any(|file| file.starts_with(&folder))
    }
}

/// The crate that a file belongs to: `crates/sys/src/lib.rs` to `sys`, `xtask/src/main.rs` to
/// `xtask`.
pub fn crate_of(path: &str) -> &str {
    let inner = path.strip_prefix("crates/").unwrap_or(path);
    inner.split('/').next().unwrap_or(inner)
}

/// Whether a file holds nothing but tests.
pub fn is_test(path: &str) -> bool {
    let mut parts = path.split('/');
    let file = parts.next_back().unwrap_or_default();
    file == "tests.rs"
        || file.contains(".test.")
        || parts.any(|folder| matches!(folder, "test" | "tests" | "benches"))
        || path.starts_with("e2e/")
}

#[cfg(test)]
mod tests;

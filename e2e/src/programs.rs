//! Where the programs are.

use std::{
    env,
    path::{Path, PathBuf},
};

/// The user and group id of nobody.
pub const NOBODY: u32 = 65534;

/// The program under test: `PORTOLAN_BIN`, or what cargo built beside the test.
///
/// # Panics
/// When it is not there.
#[must_use]
pub fn portolan() -> PathBuf {
    if let Some(path) = env::var_os("PORTOLAN_BIN") {
        let path = PathBuf::from(path);
        assert!(path.is_file(), "PORTOLAN_BIN: {} is not a file", path.display());
        return path.canonicalize().unwrap_or(path);
    }
    let test = env::current_exe().unwrap_or_default();
    // target/PROFILE/deps/TEST
    let built = test.parent().and_then(Path::parent).map(|folder| folder.join("portolan"));
    match built {
        Some(built) if built.is_file() => built,
        _ => panic!("there is no portolan to test: cargo build -p portolan-cli first"),
    }
}

/// An example of the library `portolan_host`, which cargo built beside the program under test.
///
/// # Panics
/// When it is not there.
#[must_use]
pub fn example(name: &str) -> PathBuf {
    let file = portolan().with_file_name("examples").join(name);
    assert!(file.is_file(), "no {}: cargo build -p portolan-host --examples first", file.display());
    file
}

/// Where a program is that the Debian package `package` has.
///
/// # Panics
/// When it is not installed.
#[must_use]
pub fn program(name: &str, package: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    let found = env::split_paths(&path)
        .chain(usual)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("{name} is missing: apt-get install {package}, or make test"))
}

/// A program of PostgreSQL's newest installed version.
pub(crate) fn postgresql(name: &str) -> PathBuf {
    let versions = Path::new("/usr/lib/postgresql").read_dir().into_iter().flatten().flatten();
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.map(|entry| entry.path()).max_by_key(|path| number(path));
    let found = newest.map(|folder| folder.join("bin").join(name));
    found.filter(|file| file.is_file()).unwrap_or_else(|| {
        panic!("PostgreSQL's {name} is missing: apt-get install postgresql, or make test")
    })
}

/// The root of the repository.
#[must_use]
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

//! What was there before the programs were attached.

use std::{
    io::{
        ErrorKind::{Interrupted, WouldBlock},
        Read,
    },
    path::Path,
};

use libbpf_rs::{Iter, IterOpts, Object};
use portolan_sys::netns;

use crate::{
    Error,
    object::{program, refused},
};

/// Makes the TCP sockets of all network namespaces known to the programs. Returns how many
/// namespaces could not be entered.
pub fn sockets(object: &Object) -> Result<usize, Error> {
    let listing = netns::list().map_err(Error::system("list network namespaces", "/proc"))?;
    let here = netns::current().map_err(Error::system("find the network namespace", "/proc"))?;
    run(object, "existing", None)?;
    let elsewhere = listing.namespaces.iter().filter(|netns| netns.inode != here);
    let failed = elsewhere.filter(|netns| run(object, "existing", Some(&netns.path)).is_err());
    Ok(failed.count())
}

/// Looks for the processes that hold connections and listeners without a process.
pub fn owners(object: &Object) -> Result<(), Error> {
    run(object, "owners", None)
}

/// Runs an iterator to its end, in the namespace at a path.
fn run(object: &Object, name: &str, place: Option<&Path>) -> Result<(), Error> {
    let failed = |error| refused(format!("run the iterator {name}"), error);
    let link = program(object, name).attach_iter_with_opts(IterOpts::None).map_err(failed)?;
    let begin = || Iter::new(&link);
    let begun = match place {
        None => begin(),
        Some(path) => netns::run_in(path, begin)
            .map_err(Error::system("enter the network namespace", path.display().to_string()))?,
    };
    let mut iterator = begun.map_err(failed)?;
    loop {
        match iterator.read(&mut [0; 64]) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            // A signal, or a million objects passed over at once: it goes on where it was.
            Err(error) if matches!(error.kind(), Interrupted | WouldBlock) => {}
            Err(source) => {
                return Err(Error::System {
                    what: "run a BPF iterator",
                    place: name.to_owned(),
                    source,
                });
            }
        }
    }
}

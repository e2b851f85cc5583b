//! What a reading says when it is not complete.

use std::{fs::File, sync::Arc, sync::atomic::AtomicUsize, sync::atomic::Ordering};

use super::{super::Listing, *};
use crate::{Coverage, Error, Method, Place, Query, Row, scene::run_alone};

/// A table that is torn so many times, and skips so many entries.
struct Table {
    reads: Arc<AtomicUsize>,
    torn: usize,
    skipped: u64,
    inner: Box<dyn Method>,
}

impl Method for Table {
    fn name(&self) -> MethodName {
        self.inner.name()
    }

    fn read(&mut self, query: &Query, each: &mut dyn FnMut(&Row)) -> Result<Coverage, Error> {
        let mut coverage = self.inner.read(query, each)?;
        if query.transport == Transport::Tcp {
            coverage.torn = self.reads.fetch_add(1, Ordering::Relaxed) < self.torn;
            coverage.skipped = self.skipped;
        }
        Ok(coverage)
    }
}

/// A reading of such a table, and how many times that read it.
fn read_from(torn: usize, skipped: u64) -> (Reading, usize) {
    let mut snapshot = open(DIAG, true);
    let reads = Arc::new(AtomicUsize::new(0));
    let here = Place::here();
    let inner = crate::open(MethodName::Diag, &here).expect("it was open before");
    let table = Table { reads: reads.clone(), torn, skipped, inner };
    let Listing::Readers(readers) = &mut snapshot.listing else { unreachable!("it was asked for") };
    readers.readers.insert(here.netns, (here, Box::new(table)));
    let reading = snapshot.read().expect("it is readable");
    (reading, reads.load(Ordering::Relaxed))
}

fn says(reading: &Reading, what: &str) -> usize {
    reading.warnings.iter().filter(|warning| warning.contains(what)).count()
}

#[test]
fn a_table_that_was_torn_is_read_once_more() {
    in_own_namespace(|| {
        let (_client, _server) = both(4);
        for (torn, times, warnings) in [(0, 1, 0), (1, 2, 0), (2, 2, 1), (9, 2, 1)] {
            let (reading, reads) = read_from(torn, 0);
            assert_eq!(reads, times, "{torn}");
            assert_eq!(says(&reading, "changed while they were read"), warnings, "{torn}");
            assert_eq!(reading.coverage.torn, warnings > 0);
            let flow = only(&reading.bundle.flows);
            assert_eq!((flow.active.connections, flow.passive.connections), (4, 4), "{torn}");
            assert_eq!(reading.coverage.rows, 9);
        }
    });
}

#[test]
fn entries_that_were_skipped_are_said() {
    in_own_namespace(|| {
        let text = "some entries of the kernel's socket tables could not be read";
        assert_eq!(says(&read_from(0, 0).0, text), 0);
        let few = read_from(0, 3).0;
        assert_eq!((few.coverage.skipped, says(&few, text)), (3, 1));
        assert_eq!(few.warnings, read_from(0, 4).0.warnings, "the same text each time");
    });
}

/// In a process of its own, since the limit is the whole process's.
#[test]
fn a_namespace_that_lacks_a_descriptor_is_not_refused() {
    let test = "snapshot::tests::trouble::a_namespace_that_lacks_a_descriptor_is_not_refused";
    run_alone(test, || {
        in_own_namespaces(|way| {
            let (_netns, _programs) = elsewhere();
            let mut snapshot = open(way, false);
            let limit = rustix::process::Resource::Nofile;
            let enough = rustix::process::getrlimit(limit);
            let few = rustix::process::Rlimit { current: Some(90), ..enough };
            rustix::process::setrlimit(limit, few).expect("lower is always allowed");
            let mut all: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
            // One for the listing of /proc, or for the way into the namespace.
            all.pop();
            let mut warnings = Vec::new();
            snapshot.follow_namespaces(&mut warnings).expect("the namespaces are listed");
            drop(all);
            let text = warnings.join("\n");
            assert!(text.contains("Too many open files"), "{text}");
            assert!(!text.contains("CAP_SYS_ADMIN"), "{text}");

            snapshot.read().expect("there are descriptors again");
            rustix::process::setrlimit(limit, enough).expect("not above the hard limit");
        });
    });
}

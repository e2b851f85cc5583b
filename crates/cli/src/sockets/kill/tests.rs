use super::*;

#[test]
fn only_a_yes_is_a_yes() {
    for yes in ["y\n", "Y\n", "yes\n", " Yes "] {
        assert!(is_yes(yes), "{yes:?}");
    }
    for no in ["", "\n", "n\n", "no\n", "yy\n", "ye\n", "sure\n"] {
        assert!(!is_yes(no), "{no:?}");
    }
}

#[test]
fn what_became_of_them_is_one_sentence() {
    let mut report = Report { closed: 3, ..Report::default() };
    assert_eq!(report.sentence(), "3 closed");
    report.gone = 1;
    report.failed.insert("because".to_owned(), 2);
    assert_eq!(report.sentence(), "3 closed, 1 had ended already, 2 not closed (because)");
}

#[test]
fn a_refusal_says_what_to_do() {
    let advice = |errno: Errno| advise(&errno.into());
    assert!(advice(Errno::PERM).ends_with("run as root, or grant CAP_NET_ADMIN"));
    assert!(advice(Errno::OPNOTSUPP).contains("CONFIG_INET_DIAG_DESTROY"));
    assert!(!advice(Errno::NOMEM).contains("CAP"));
}

/// Fails with such an error, and remembers what it was asked to write.
struct Broken(io::ErrorKind, usize);

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        self.1 += 1;
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_code_tells_what_is_worst() {
    let code = |kind: Option<io::ErrorKind>, failed: usize| {
        let mut report = Report::default();
        if failed > 0 {
            report.failed.insert("because".to_owned(), failed);
        }
        if let Some(kind) = kind {
            let mut out = Broken(kind, 0);
            report.write(b"a line", &mut out);
            report.write(b"another line", &mut out);
            report.flush(&mut out);
            assert_eq!(out.1, 1, "it is not tried again");
        }
        report.code()
    };
    assert_eq!([code(None, 0), code(None, 1)], [0, 1]);
    let pipe = Some(io::ErrorKind::BrokenPipe);
    assert_eq!([code(pipe, 0), code(pipe, 1)], [0, 1]);
    let full = Some(io::ErrorKind::StorageFull);
    assert_eq!([code(full, 0), code(full, 1)], [2, 2]);
}

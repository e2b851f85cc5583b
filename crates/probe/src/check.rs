//! One check after the other, each waited for: for request paths and scripts.

use std::{io, net::SocketAddr, os::fd::BorrowedFd, time::Duration};

use crate::{
    Answer, Asked, Connecting, Finding, Id, Method, MethodName, Noise, Pace, Plan, Session, Syn,
    SynSettings, plan,
};

/// Checks ports on the caller's thread, one at a time, without any other.
///
/// Make one and keep it: what it opens serves all its checks.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// use std::time::Duration;
/// use portolan_probe::{MethodName, Probe, Verdict};
///
/// # let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
/// # let target = listener.local_addr()?;
/// let mut probe = Probe::open(MethodName::Quiet)?;
/// let finding = probe.check(target, Duration::from_millis(500))?;
/// assert_eq!(finding.verdict, Verdict::Open);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Probe {
    session: Session<Box<dyn Method + Send>>,
    retries: u8,
    /// That of the plan that the session has.
    deadline: Option<Duration>,
}

impl Probe {
    /// One that asks by `method`, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// `EPERM` where `syn` lacks `CAP_NET_RAW`; `EMFILE` without descriptors.
    pub fn open(method: MethodName) -> io::Result<Self> {
        Ok(Self::with(open(method, SynSettings { capacity: 1, ..SynSettings::default() })?))
    }

    /// One that asks by the best method that it may: `syn`, or else `quiet`, which needs nothing.
    ///
    /// # Errors
    /// `EMFILE` without descriptors.
    pub fn open_best() -> io::Result<Self> {
        match Self::open(MethodName::Syn) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Self::open(MethodName::Quiet)
            }
            opened => opened,
        }
    }

    /// One that asks by a method that was opened before.
    #[must_use]
    pub fn with(method: Box<dyn Method + Send>) -> Self {
        let session = Session::new(method, Plan::default(), Pace::Unlimited);
        Self { session, retries: 2, deadline: None }
    }

    /// Asks a silent target again `retries` times within the deadline; 2 unless told otherwise.
    #[must_use]
    pub fn with_retries(self, retries: u8) -> Self {
        let retries = retries.min(plan::ATTEMPTS_MAX - 1);
        Self { retries, deadline: None, ..self }
    }

    /// How it asks.
    #[must_use]
    pub fn method(&self) -> MethodName {
        self.session.method().name()
    }

    /// Is the port of `target` open? Answers within `deadline`, an hour at most, asking again
    /// meanwhile.
    ///
    /// # Errors
    /// When it can neither ask nor hear any more; trouble with the target is a verdict.
    pub fn check(&mut self, target: SocketAddr, deadline: Duration) -> io::Result<Finding> {
        if self.deadline != Some(deadline) {
            self.deadline = Some(deadline);
            self.session.set_plan(Plan::new(deadline, self.retries));
        }
        if let Some(finding) = self.session.ask_alone(target)? {
            return Ok(finding);
        }
        loop {
            let wait = self.session.turn()?;
            if let Some((_, finding)) = self.session.next() {
                return Ok(finding);
            }
            self.session.wait(wait)?;
        }
    }
}

/// Is the port of `target` open? For a single question: who asks again keeps a [`Probe`].
///
/// # Errors
/// As those of [`Probe::open`] and [`Probe::check`].
pub fn check(target: SocketAddr, method: MethodName, deadline: Duration) -> io::Result<Finding> {
    Probe::open(method)?.check(target, deadline)
}

/// Opens a method.
///
/// # Errors
/// `EPERM` where `syn` lacks `CAP_NET_RAW`; `EMFILE` without descriptors.
pub fn open(name: MethodName, syn: SynSettings) -> io::Result<Box<dyn Method + Send>> {
    Ok(match name {
        MethodName::Connect | MethodName::Linger | MethodName::Quiet => {
            Box::new(Connecting::new(name)?)
        }
        MethodName::Syn => Box::new(Syn::open(syn)?),
    })
}

impl<M: Method + ?Sized> Method for Box<M> {
    fn name(&self) -> MethodName {
        (**self).name()
    }

    fn capacity(&self) -> usize {
        (**self).capacity()
    }

    fn ask(&mut self, id: Id, target: SocketAddr, attempt: u8) -> Asked {
        (**self).ask(id, target, attempt)
    }

    fn flush(&mut self) -> io::Result<()> {
        (**self).flush()
    }

    fn take_unsent(&mut self, each: &mut dyn FnMut(Id)) {
        (**self).take_unsent(each);
    }

    fn hear(&mut self, each: &mut dyn FnMut(Id, Answer)) -> io::Result<()> {
        (**self).hear(each)
    }

    fn forget(&mut self, id: Id) {
        (**self).forget(id);
    }

    fn noise(&self) -> Noise {
        (**self).noise()
    }

    fn pollable(&mut self) -> io::Result<BorrowedFd<'_>> {
        (**self).pollable()
    }
}

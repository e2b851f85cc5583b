//! Every way of asking, and sessions of them.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    time::{Duration, Instant},
};

use portolan_probe::{Finding, Method, MethodName, Pace, Plan, Session, SynSettings};
use portolan_sys::limits;

use super::PATIENCE;

/// The methods, `syn` on both of its links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    pub method: MethodName,
    pub past_ip: bool,
}

impl Way {
    pub const ALL: [Self; 5] = [
        Self::by(MethodName::Connect),
        Self::by(MethodName::Linger),
        Self::by(MethodName::Quiet),
        Self::SYN,
        Self::PAST_IP,
    ];
    pub const SYN: Self = Self::by(MethodName::Syn);
    pub const PAST_IP: Self = Self { method: MethodName::Syn, past_ip: true };

    const fn by(method: MethodName) -> Self {
        Self { method, past_ip: false }
    }

    /// A session in the namespace of this thread.
    pub fn session(self, plan: Plan) -> Session<Box<dyn Method + Send>> {
        self.session_at(plan, Pace::Unlimited)
    }

    /// The same at a pace.
    pub fn session_at(self, plan: Plan, pace: Pace) -> Session<Box<dyn Method + Send>> {
        Session::new(self.open(SynSettings::default().ports), plan, pace)
    }

    /// The method, `syn` with so many source ports.
    pub fn open(self, ports: u16) -> Box<dyn Method + Send> {
        limits::raise_descriptors().unwrap();
        let settings = SynSettings { past_ip: self.past_ip, ports, ..SynSettings::default() };
        portolan_probe::open(self.method, settings).expect("needs root, for raw sockets")
    }
}

impl fmt::Display for Way {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", self.method.name(), if self.past_ip { " past IP" } else { "" })
    }
}

/// Checks every target; the findings stand as the targets do.
#[track_caller]
pub fn check_all<M: Method>(session: &mut Session<M>, targets: &[SocketAddr]) -> Vec<Finding> {
    let mut findings = vec![None; targets.len()];
    let mut next = targets.iter().zip(0..).peekable();
    let deadline = Instant::now() + PATIENCE;
    loop {
        while session.room() > 0
            && let Some((&target, token)) = next.next()
        {
            assert!(session.add(target, token), "there was room");
        }
        let wait = session.turn().unwrap();
        while let Some((token, finding)) = session.next() {
            let place = &mut findings[usize::try_from(token).unwrap()];
            assert_eq!(place.replace(finding), None, "said twice: {finding:?}");
        }
        if session.is_idle() && next.peek().is_none() {
            break;
        }
        assert!(Instant::now() < deadline, "{:?}", session.counts());
        if !session.is_idle() {
            session.wait(Some(wait.unwrap_or(PATIENCE).min(PATIENCE))).unwrap();
        }
    }
    findings.into_iter().map(|finding| finding.expect("every check has a finding")).collect()
}

/// Checks one target.
#[track_caller]
pub fn check<M: Method>(session: &mut Session<M>, target: SocketAddr) -> Finding {
    check_all(session, &[target])[0]
}

/// Takes turns until something is so.
#[track_caller]
pub fn turn_until<M: Method>(
    session: &mut Session<M>,
    mut is_so: impl FnMut(&mut Session<M>) -> bool,
) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let wait = session.turn().unwrap();
        if is_so(session) {
            return;
        }
        assert!(Instant::now() < deadline, "{:?}", session.counts());
        let moment = Duration::from_millis(10);
        session.wait(Some(wait.unwrap_or(moment).min(moment))).unwrap();
    }
}

/// Address number `number` of 10.77.0.0/16 or the like.
pub fn v4(second: u8, number: u16) -> IpAddr {
    let [third, fourth] = number.to_be_bytes();
    [10, second, third, fourth].into()
}

/// Address number `number` of fd77::/64 or the like.
pub fn v6(first: u16, number: u16) -> IpAddr {
    [first, 0, 0, 0, 0, 0, 0, number].into()
}

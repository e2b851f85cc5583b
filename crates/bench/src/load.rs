//! The scenario `load`: whether the load generator is what one measures.
//!
//! HTTP: everyone is a whole process, as its users start it, with one thread on a processor of its
//! own, and the server has another one; each client loads the same nginx, and then our server.
//! Connections: our client against a bare loop of `socket`, `connect` and `close`, over all
//! processors. Ports: the experiment of `portolan load ports`, a strategy at a time. Every run is
//! in a network namespace that nobody was in before.

mod bare;
mod client;
mod contest;
mod ports;
mod said;
mod server;

use std::{num::NonZero, thread, time::Duration};

use crate::{
    By, Column, Compared, Contestant, Error, Plot, Program, Scenario, Value, View,
    program::Executable, scenario,
};
use client::Client;
use contest::Contest;
use ports::Ports;
use server::Server;

pub use bare::{BareLoop, Connected, bare_loop};

/// How [`Load`] is set up.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// What is measured.
    pub workload: LoadWorkload,
    /// This program, with the arguments that make it `portolan load` when flags follow.
    pub load: Program,
    /// The same for [`bare_loop()`] and [`BareLoop::to_args`].
    pub bare: Program,
    /// How long each run is, of HTTP in whole seconds; 2 s if `None`.
    pub window: Option<Duration>,
    /// All sizes, not only those that end soon.
    pub all: bool,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadWorkload {
    /// HTTP requests over persistent connections.
    Http,
    /// HTTP requests over a new connection each.
    HttpClose,
    /// New connections, with nothing on them.
    Connect,
    /// The search for source ports.
    Ports,
}

impl LoadWorkload {
    /// All, in the order of a report.
    pub const ALL: [Self; 4] = [Self::Http, Self::HttpClose, Self::Connect, Self::Ports];

    /// One word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::HttpClose => "http-close",
            Self::Connect => "connect",
            Self::Ports => "ports",
        }
    }
}

/// The scenario.
#[derive(Clone, Debug)]
pub struct Load {
    options: LoadOptions,
}

impl Load {
    /// How the command line calls it.
    pub const NAME: &str = "load";

    /// What it is about.
    pub const ABOUT: &str = "load generators: requests and connections per second, source ports";

    /// The usual size, in connections at once.
    pub const SIZES: [u64; 1] = [64];

    /// The scenario with these options.
    #[must_use]
    pub fn new(options: LoadOptions) -> Self {
        Self { options }
    }

    fn workload(&self) -> LoadWorkload {
        self.options.workload
    }

    fn window(&self) -> Duration {
        let window = self.options.window.unwrap_or(WINDOW);
        match self.workload() {
            // Some clients know no parts of a second.
            LoadWorkload::Http | LoadWorkload::HttpClose => {
                let begun = u64::from(window.subsec_nanos() > 0);
                Duration::from_secs((window.as_secs() + begun).max(1))
            }
            LoadWorkload::Connect | LoadWorkload::Ports => window,
        }
    }

    fn own(&self) -> Executable {
        Executable::Own { program: self.options.load.clone(), method: None }
    }

    fn contest(
        &self,
        task: &'static str,
        server: Server,
        client: Client,
        file: Executable,
    ) -> Contest {
        let (name, baseline) = match self.workload() {
            LoadWorkload::Http | LoadWorkload::HttpClose => {
                let rival = if server == Server::Nginx { Client::Wrk } else { client };
                (format!("{} to {}", client.name(), server.name()), client::to_nginx(rival))
            }
            LoadWorkload::Connect | LoadWorkload::Ports => {
                (client.name().to_owned(), client.bare_baseline())
            }
        };
        Contest {
            name,
            baseline,
            task,
            server,
            client,
            file,
            own: self.options.load.clone(),
            keep_alive: self.workload() != LoadWorkload::HttpClose,
            threads: if server == Server::Sink { processors() } else { 1 },
            window: self.window(),
            possible: None,
        }
    }

    /// Every client to `server`.
    fn http(&self, task: &'static str, server: Server) -> Vec<Contest> {
        let peers = [Client::Wrk, Client::H2load, Client::Oha];
        let peers = peers.into_iter().map(|peer| (peer, peer.peer()));
        let own = (Client::Http, self.own());
        std::iter::once(own)
            .chain(peers)
            .map(|(client, file)| self.contest(task, server, client, file))
            .collect()
    }

    fn connect(&self) -> Vec<Contest> {
        let bare = || Executable::Own { program: self.options.bare.clone(), method: None };
        let (order, reset) = ("connect", "connect-reset");
        [
            (order, Client::Connect { resets: false }, self.own()),
            (order, Client::TooMany, self.own()),
            (order, Client::Bare { resets: false }, bare()),
            (reset, Client::Connect { resets: true }, self.own()),
            (reset, Client::Bare { resets: true }, bare()),
        ]
        .map(|(task, client, file)| self.contest(task, Server::Sink, client, file))
        .into()
    }
}

impl Scenario for Load {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn about(&self) -> &str {
        match self.workload() {
            LoadWorkload::Http => "HTTP requests over persistent connections, one thread each",
            LoadWorkload::HttpClose => "HTTP requests over a new connection each, one thread each",
            LoadWorkload::Connect => "new connections to our server, a thread per processor",
            LoadWorkload::Ports => "what the search for source ports costs, all held at once",
        }
    }

    fn unit(&self) -> &'static str {
        match self.workload() {
            LoadWorkload::Ports => "source ports",
            _ => "connections at once",
        }
    }

    fn rounds(&self) -> u32 {
        if self.workload() == LoadWorkload::Ports { 3 } else { 7 }
    }

    fn view(&self) -> View {
        match self.workload() {
            LoadWorkload::Http | LoadWorkload::HttpClose => {
                View::Figures { columns: &HTTP_COLUMNS, plots: &HTTP_PLOTS }
            }
            LoadWorkload::Connect => {
                View::Figures { columns: &CONNECT_COLUMNS, plots: &CONNECT_PLOTS }
            }
            LoadWorkload::Ports => View::Figures { columns: &PORTS_COLUMNS, plots: &PORTS_PLOTS },
        }
    }

    fn compared(&self) -> &'static [Compared] {
        &COMPARED
    }

    fn sizes(&self) -> &[u64] {
        match (self.workload(), self.options.all) {
            (LoadWorkload::Ports, true) => &[8_000, 40_000],
            (LoadWorkload::Ports, false) => &[8_000],
            _ => &Self::SIZES,
        }
    }

    fn contestants(&self) -> Vec<Box<dyn Contestant>> {
        let contests = match self.workload() {
            LoadWorkload::Http | LoadWorkload::HttpClose => {
                let mut all = self.http("clients", Server::Nginx);
                all.extend(self.http("servers", Server::Http));
                all
            }
            LoadWorkload::Connect => self.connect(),
            LoadWorkload::Ports => return Ports::all(&self.options.load),
        };
        contests.into_iter().map(|one| -> Box<dyn Contestant> { Box::new(one) }).collect()
    }

    fn prepare(&self, size: u64) -> Result<Box<dyn scenario::World>, Error> {
        let (what, max) = match self.workload() {
            LoadWorkload::Ports => ("source ports", ports::SIZE_MAX),
            _ => ("connections at once", contest::SIZE_MAX),
        };
        if size > max {
            return Err(Error::TooMany { what, asked: size, max, advice: "" });
        }
        // Each run has a network namespace of its own.
        Ok(Box::new(Nothing))
    }
}

struct Nothing;

impl scenario::World for Nothing {}

/// How many processors this thread may use.
fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// How long a run is where nobody says.
const WINDOW: Duration = Duration::from_secs(2);

const fn times(figure: &'static str, name: &'static str) -> Compared {
    Compared { figure, name, by: By::Times }
}

const COMPARED: [Compared; 4] = [
    times("achieved_per_second", "achieved_ratio"),
    times("client_ns_per_operation", "client_ns_ratio"),
    times("server_ns_per_operation", "server_ns_ratio"),
    times("calls_per_second", "calls_ratio"),
];

const fn column(name: &'static str, heading: &'static str, has_ends: bool) -> Column {
    Column { value: Value::Figure(name), heading, has_ends }
}

const fn ratio(name: &'static str, heading: &'static str, has_ends: bool) -> Column {
    Column { value: Value::Difference(name), heading, has_ends }
}

const HTTP_COLUMNS: [Column; 6] = [
    column("achieved_per_second", "requests/s", true),
    ratio("achieved_ratio", "× baseline [95 %]", true),
    column("client_ns_per_operation", "client ns/request", false),
    ratio("client_ns_ratio", "× baseline", false),
    column("server_ns_per_operation", "server ns/request", false),
    ratio("server_ns_ratio", "× baseline", false),
];

const CONNECT_COLUMNS: [Column; 6] = [
    column("achieved_per_second", "connections/s", true),
    ratio("achieved_ratio", "× bare loop [95 %]", true),
    column("asked_per_second", "asked/s", false),
    column("errors", "errors", false),
    column("client_ns_per_operation", "client ns/connection", false),
    column("server_ns_per_operation", "server ns/connection", false),
];

const PORTS_COLUMNS: [Column; 8] = [
    column("total_us", "total", true),
    column("calls_per_second", "calls/s", false),
    ratio("calls_ratio", "× kernel [95 %]", true),
    column("first_us_median", "first each", false),
    column("last_us_median", "last each", false),
    column("last_to_first", "last/first", true),
    column("cliff_after", "cliff after", false),
    column("conflicts", "conflicts", false),
];

const fn plot(title: &'static str, task: &'static str, value: Value) -> Plot {
    Plot { title, task, value }
}

const ACHIEVED: Value = Value::Figure("achieved_per_second");
const TOTAL: Value = Value::Figure("total_us");

const HTTP_PLOTS: [Plot; 4] = [
    plot("requests per second, clients of the same nginx", "clients", ACHIEVED),
    plot("requests per second, to our server", "servers", ACHIEVED),
    plot(
        "CPU time of the client, ns per request to nginx",
        "clients",
        Value::Figure("client_ns_per_operation"),
    ),
    plot(
        "CPU time of our server, ns per request",
        "servers",
        Value::Figure("server_ns_per_operation"),
    ),
];

const CONNECT_PLOTS: [Plot; 2] = [
    plot("new connections per second, closed in order", "connect", ACHIEVED),
    plot("new connections per second, closed by a reset", "connect-reset", ACHIEVED),
];

const PORTS_PLOTS: [Plot; 2] = [
    plot("all calls of connect, µs", "connect", TOTAL),
    plot("all calls of bind, µs", "bind", TOTAL),
];

#[cfg(test)]
mod tests;

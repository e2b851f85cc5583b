//! The harness of the end-to-end tests, which are in `tests/`.
//!
//! The crate's one idea: a test gets a world of its own, a fresh network namespace with real
//! programs in it, so that the expected map is known exactly; and nothing of that world survives
//! the test, however the test ends. What cannot be tested here panics and says what is missing.
//!
//! Read in this order: `world.rs`, `place.rs`, `running.rs`, `programs.rs`, `peers.rs`,
//! `live.rs`, `edges.rs`, `probe.rs`, `tcp.rs`, `traced.rs`, `screen.rs`, `wait.rs`, `random.rs`;
//! for hosts of `portolan_host`: `link.rs`, `kernel.rs`, `capture.rs`, `bulk.rs`, `case.rs`,
//! `hosted.rs`.

pub mod bulk;
pub mod capture;
pub mod case;
pub mod edges;
pub mod hosted;
pub mod kernel;
pub mod link;
pub mod live;
pub mod peers;
mod place;
pub mod probe;
mod programs;
mod random;
mod running;
mod screen;
pub mod tcp;
pub mod traced;
mod wait;
mod world;

pub use place::Place;
pub use programs::{NOBODY, example, portolan, program, repository};
pub use random::Random;
pub use running::{Ran, Running};
pub use screen::Screen;
pub use wait::{PATIENCE, wait_for};
pub use world::World;

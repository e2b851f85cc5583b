//! What contestants have to know of the world that they run in.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    Error, Program, scenario,
    world::{Listen, Part, Served},
};

/// The server of the world and how often it was used; shared by the scenario and its contestants.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stage(Arc<Mutex<Scene>>);

#[derive(Debug, Default)]
struct Scene {
    server: Option<Part>,
    turns: u32,
}

impl Stage {
    /// Starts the server `plan` in the network namespace of the calling thread. `own` is a program
    /// that calls [`crate::listen()`] when [`Listen::to_args`] follows its own arguments.
    pub(crate) fn open(&self, own: &Program, plan: &Listen) -> Result<(), Error> {
        let mut server = Part::start(&own.clone().with(plan.to_args()))?;
        server.wait_for(Listen::ready()).map_err(|said| Error::Server { said })?;
        *self.scene() = Scene { server: Some(server), turns: 0 };
        Ok(())
    }

    /// A number that no other turn in this world has.
    pub(crate) fn turn(&self) -> u32 {
        let mut scene = self.scene();
        scene.turns += 1;
        scene.turns
    }

    /// What the server has done so far; connections that are on their way are waited for.
    pub(crate) fn served(&self) -> Result<Served, Error> {
        let mut scene = self.scene();
        let server = scene.server.as_mut().ok_or_else(|| io::Error::other("there is none"));
        server
            .and_then(Part::ask)
            .and_then(|line| serde_json::from_str(&line).map_err(io::Error::from))
            .map_err(Error::system("ask the server what it accepted"))
    }

    fn scene(&self) -> std::sync::MutexGuard<'_, Scene> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the server of a stage when it is dropped.
pub(crate) struct Scenery(pub(crate) Stage);

impl scenario::World for Scenery {}

impl Drop for Scenery {
    fn drop(&mut self) {
        let server = self.0.scene().server.take();
        drop(server);
    }
}

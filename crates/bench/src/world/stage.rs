//! What contestants have to know of the world that they run in.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    Error, Program, scenario,
    world::{Listen, Part, Served},
};

/// The server of the world; shared by the scenario and its contestants.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stage(Arc<Mutex<Option<Part>>>);

impl Stage {
    /// Starts the server `plan` in the network namespace of the calling thread, in the place of the
    /// one before, if there is one. `own` is a program that calls [`crate::listen()`] when
    /// [`Listen::to_args`] follows its own arguments.
    pub(crate) fn open(&self, own: &Program, plan: &Listen) -> Result<(), Error> {
        let mut server = Part::start(&own.clone().with(plan.to_args()))?;
        server.wait_for(Listen::ready()).map_err(|said| Error::Server { said })?;
        let before = self.server().replace(server);
        drop(before);
        Ok(())
    }

    /// What the server has done so far; connections that are on their way are waited for.
    pub(crate) fn served(&self) -> Result<Served, Error> {
        let mut server = self.server();
        let server = server.as_mut().ok_or_else(|| io::Error::other("there is none"));
        server
            .and_then(Part::ask)
            .and_then(|line| serde_json::from_str(&line).map_err(io::Error::from))
            .map_err(Error::system("ask the server what it accepted"))
    }

    fn server(&self) -> MutexGuard<'_, Option<Part>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the server of a stage when it is dropped.
pub(crate) struct Scenery(pub(crate) Stage);

impl scenario::World for Scenery {}

impl Drop for Scenery {
    fn drop(&mut self) {
        let server = self.0.server().take();
        drop(server);
    }
}

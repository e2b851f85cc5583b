//! The subcommands of `sim`. Each says whether all was right.

pub mod replay;
pub mod run;
pub mod script;
pub mod table;

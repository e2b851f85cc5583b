//! What is counted by the root control group alone is what happened, too.

#[path = "conservation.rs"]
mod conservation;

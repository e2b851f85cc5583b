//! The program `portolan`.
fn main() {}

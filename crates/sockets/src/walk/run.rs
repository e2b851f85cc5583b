//! Running a program that user space starts, and reading what it left.

use libbpf_rs::{MapCore, MapFlags, Object, ProgramInput};

use crate::{Error, bpf};

/// Runs a program with these arguments; returns whether it would go on.
pub fn run(object: &Object, name: &str, arguments: &[u64]) -> Result<bool, Error> {
    let mut context: Vec<u8> = arguments.iter().flat_map(|it| it.to_ne_bytes()).collect();
    let input = ProgramInput { context_in: Some(&mut context), ..ProgramInput::default() };
    let output = bpf::program(object, name).test_run(input);
    Ok(output.map_err(bpf::refused("run a BPF program"))?.return_value != 0)
}

/// Copies an entry of an array map.
pub fn copy(object: &Object, name: &str, index: u32, into: &mut Vec<u8>) -> Result<(), Error> {
    let map = bpf::map(object, name);
    into.resize(usize::try_from(map.value_size()).expect("it fits into memory"), 0);
    let found = map.lookup_into(&index.to_ne_bytes(), into, MapFlags::ANY);
    found.map_err(bpf::refused("read a BPF map"))?;
    Ok(())
}

//! Classic BPF on a socket: the kernel drops what a program does not want before it is queued.

use std::{
    io,
    os::fd::{AsFd, AsRawFd},
};

/// One instruction of classic BPF (`struct sock_filter` of linux/filter.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Operation, `BPF_*` added up.
    pub code: u16,
    /// How many instructions to skip where a comparison holds.
    pub jump_true: u8,
    /// How many to skip where it does not.
    pub jump_false: u8,
    /// The operand.
    pub operand: u32,
}

/// Attaches `program` to a socket: it returns how many bytes of a packet are wanted, 0 for none.
///
/// # Errors
/// `EINVAL` for a program that the kernel cannot check, or none.
pub fn attach(fd: impl AsFd, program: &[Instruction]) -> io::Result<()> {
    let to_kernel = |it: &Instruction| libc::sock_filter {
        code: it.code,
        jt: it.jump_true,
        jf: it.jump_false,
        k: it.operand,
    };
    let mut instructions: Vec<libc::sock_filter> = program.iter().map(to_kernel).collect();
    let len = u16::try_from(instructions.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog { len, filter: instructions.as_mut_ptr() };
    crate::option::set(fd.as_fd().as_raw_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

#[cfg(test)]
mod tests;

//! Compiles an expression to what the kernel runs on each socket before it tells of it
//! (`INET_DIAG_REQ_BYTECODE`; include/uapi/linux/inet_diag.h, net/ipv4/inet_diag.c).
//!
//! ```text
//! inet_diag_bc_op    code:1 yes:1 no:2        then what the code needs:
//!   S_GE S_LE D_GE D_LE                       an inet_diag_bc_op whose `no` is the port
//!   S_COND D_COND    inet_diag_hostcond       family:1 bits:1 0:2 port:4 (-1: any) address:0|4|16
//!   DEV_COND                                  interface:4
//! ```
//!
//! `yes` is the length of the operation, and `no` how far to jump forward where it is false; both
//! are multiples of 4. To end up exactly at the end of the code accepts the socket, and 4 bytes
//! beyond rejects it. What the kernel has no operation for counts as true, so that it accepts every
//! socket that matches, and perhaps others.

mod tree;

use std::net::IpAddr;

use super::expression::{End, Expression};
use tree::{Operation, Tree};

/// Offsets are of 16 bits, and so is the length of the attribute that carries the code.
pub const BYTECODE_BYTES_MAX: usize = 32 * 1024;

const JMP: u8 = 1;
const S_GE: u8 = 2;
const S_LE: u8 = 3;
const D_GE: u8 = 4;
const D_LE: u8 = 5;
const S_COND: u8 = 7;
const D_COND: u8 = 8;
const DEV_COND: u8 = 9;

const AF_UNSPEC: u8 = 0;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

const OPERATION_BYTES: usize = 4;

/// Code for the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytecode {
    pub(super) bytes: Vec<u8>,
    pub(super) exact: bool,
}

impl Bytecode {
    /// The code; empty where the kernel is not to leave any socket out.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether the kernel leaves out all that do not match. Else each has to be looked at again.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    pub(super) fn of(expression: Option<&Expression>) -> Self {
        let Some(expression) = expression else { return Self { bytes: Vec::new(), exact: true } };
        let (tree, exact) = Tree::of(expression);
        match assemble(&tree) {
            Some(bytes) => Self { bytes, exact },
            None => Self { bytes: of_a_part(tree), exact: false },
        }
    }
}

/// The code of as many of the first conditions, all of which have to be true, as there is room for.
fn of_a_part(tree: Tree) -> Vec<u8> {
    let Tree::All(conditions) = tree else { return Vec::new() };
    let mut room = BYTECODE_BYTES_MAX;
    let fitting = conditions.into_iter().filter(|condition| {
        let length = assemble(condition).map_or(usize::MAX, |bytes| bytes.len());
        let fits = length <= room;
        if fits {
            room -= length;
        }
        fits
    });
    assemble(&Tree::All(fitting.collect())).unwrap_or_default()
}

/// `None` where there is no room for it.
fn assemble(tree: &Tree) -> Option<Vec<u8>> {
    let mut assembler = Assembler::default();
    let reject = assembler.label();
    assembler.jump_unless(tree, reject);
    assembler.finish(reject)
}

/// Where a jump goes to: known once what is in between has been written.
#[derive(Clone, Copy)]
struct Label(usize);

#[derive(Default)]
struct Assembler {
    bytes: Vec<u8>,
    /// Where each label is.
    labels: Vec<usize>,
    /// The operations that jump, by the byte at which they begin.
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    fn label(&mut self) -> Label {
        self.labels.push(0);
        Label(self.labels.len() - 1)
    }

    fn place(&mut self, label: Label) {
        self.labels[label.0] = self.bytes.len();
    }

    fn jump_unless(&mut self, tree: &Tree, to: Label) {
        match tree {
            Tree::Always => {}
            Tree::Never => self.jump(to),
            Tree::Test(operation, true) => self.operation(operation, to),
            Tree::Test(operation, false) => {
                let after = self.label();
                self.operation(operation, after);
                self.jump(to);
                self.place(after);
            }
            Tree::All(parts) => parts.iter().for_each(|part| self.jump_unless(part, to)),
            Tree::Any(parts) => {
                let after = self.label();
                let Some((last, first)) = parts.split_last() else { return self.jump(to) };
                first.iter().for_each(|part| self.jump_if(part, after));
                self.jump_unless(last, to);
                self.place(after);
            }
        }
    }

    fn jump_if(&mut self, tree: &Tree, to: Label) {
        match tree {
            Tree::Always => self.jump(to),
            Tree::Never => {}
            Tree::Test(operation, false) => self.operation(operation, to),
            Tree::Test(operation, true) => {
                let after = self.label();
                self.operation(operation, after);
                self.jump(to);
                self.place(after);
            }
            Tree::Any(parts) => parts.iter().for_each(|part| self.jump_if(part, to)),
            Tree::All(parts) => {
                let after = self.label();
                let Some((last, first)) = parts.split_last() else { return self.jump(to) };
                first.iter().for_each(|part| self.jump_unless(part, after));
                self.jump_if(last, to);
                self.place(after);
            }
        }
    }

    fn jump(&mut self, to: Label) {
        self.begin(JMP, OPERATION_BYTES, to);
    }

    fn begin(&mut self, code: u8, length: usize, no: Label) {
        self.jumps.push((self.bytes.len(), no));
        // No operation is longer than 28 bytes.
        self.bytes.extend([code, u8::try_from(length).unwrap_or(u8::MAX), 0, 0]);
    }

    /// Jumps to `no` where the operation is false.
    fn operation(&mut self, operation: &Operation, no: Label) {
        match *operation {
            Operation::AtLeast(end, port) => self.port(of(end, S_GE, D_GE), port, no),
            Operation::AtMost(end, port) => self.port(of(end, S_LE, D_LE), port, no),
            Operation::Host(end, prefix, port) => {
                let (mut octets, mut family, mut bits) = (Vec::new(), AF_UNSPEC, 0);
                if let Some(prefix) = prefix {
                    bits = prefix.bits;
                    (family, octets) = match prefix.address {
                        IpAddr::V4(address) => (AF_INET, address.octets().to_vec()),
                        IpAddr::V6(address) => (AF_INET6, address.octets().to_vec()),
                    };
                }
                self.begin(of(end, S_COND, D_COND), OPERATION_BYTES + 8 + octets.len(), no);
                self.bytes.extend([family, bits, 0, 0]);
                self.bytes.extend(port.map_or(-1, i32::from).to_ne_bytes());
                self.bytes.extend(octets);
            }
            Operation::Interface(index) => {
                self.begin(DEV_COND, OPERATION_BYTES + 4, no);
                self.bytes.extend(index.to_ne_bytes());
            }
        }
    }

    fn port(&mut self, code: u8, port: u16, no: Label) {
        self.begin(code, 2 * OPERATION_BYTES, no);
        self.bytes.extend([0, 0]);
        self.bytes.extend(port.to_ne_bytes());
    }

    fn finish(mut self, reject: Label) -> Option<Vec<u8>> {
        if self.bytes.len() > BYTECODE_BYTES_MAX {
            return None;
        }
        self.labels[reject.0] = self.bytes.len() + OPERATION_BYTES;
        for (at, label) in self.jumps {
            let distance = u16::try_from(self.labels[label.0] - at).ok()?;
            self.bytes[at + 2..at + 4].copy_from_slice(&distance.to_ne_bytes());
        }
        Some(self.bytes)
    }
}

fn of(end: End, local: u8, remote: u8) -> u8 {
    match end {
        End::Local => local,
        End::Remote => remote,
    }
}

#[cfg(test)]
mod tests;

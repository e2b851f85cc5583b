use std::net::UdpSocket;

use super::*;

const fn instruction(code: u16, jump_false: u8, operand: u32) -> Instruction {
    Instruction { code, jump_true: 0, jump_false, operand }
}

/// Datagrams whose first byte is `A`, of which it wants `bytes`; UDP's header counts.
fn first_is_a(bytes: u32) -> [Instruction; 4] {
    [
        // BPF_LD + BPF_B + BPF_ABS
        instruction(0x30, 0, 8),
        // BPF_JMP + BPF_JEQ + BPF_K
        instruction(0x15, 1, b'A'.into()),
        // BPF_RET + BPF_K
        instruction(0x06, 0, bytes),
        instruction(0x06, 0, 0),
    ]
}

fn taken(program: &[Instruction]) -> Vec<String> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    attach(&socket, program).unwrap();
    let target = socket.local_addr().unwrap();
    for text in ["Apple", "Banana", "Avocado", "", "aubergine"] {
        socket.send_to(text.as_bytes(), target).unwrap();
    }
    let mut bytes = [0; 16];
    std::iter::from_fn(|| socket.recv(&mut bytes).ok().map(|len| bytes[..len].to_vec()))
        .map(|bytes| String::from_utf8(bytes).unwrap())
        .collect()
}

#[test]
fn only_what_the_program_wants_comes_through() {
    assert_eq!(taken(&first_is_a(0x4_0000)), ["Apple", "Avocado"]);
    assert!(taken(&[instruction(0x06, 0, 0)]).is_empty());
    assert_eq!(taken(&[instruction(0x06, 0, 0x4_0000)]).len(), 5);
}

#[test]
fn as_much_of_it_as_it_says() {
    assert_eq!(taken(&first_is_a(8 + 2)), ["Ap", "Av"]);
}

#[test]
fn what_is_no_program_is_refused() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let refused = |program: &[Instruction]| attach(&socket, program).unwrap_err().raw_os_error();
    assert_eq!(refused(&[]), Some(libc::EINVAL));
    assert_eq!(refused(&[instruction(0x30, 0, 0)]), Some(libc::EINVAL), "it does not return");
    assert_eq!(refused(&[instruction(0xffff, 0, 0)]), Some(libc::EINVAL));
    let file = std::fs::File::open("/dev/null").unwrap();
    let error = attach(&file, &first_is_a(1)).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOTSOCK));
}

#[test]
fn a_program_too_long_for_the_kernel_to_count_is_refused() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let error = attach(&socket, &vec![instruction(0x06, 0, 0); 65_536]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}

use super::*;

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("it is there")
}

/// A section of an object file of 64 bits (elf(5)).
fn section<'a>(object: &'a [u8], name: &str) -> &'a [u8] {
    let long = |at| usize::try_from(u64::from_le_bytes(number(object, at))).expect("small");
    let half = |at| usize::from(u16::from_le_bytes(number(object, at)));
    let header = |index: usize| long(40) + index * half(58);
    let content = |at: usize| &object[long(at + 24)..long(at + 24) + long(at + 32)];
    let names = content(header(half(62)));
    let mut headers = (0..half(60)).map(header);
    let found = headers.find(|&at| {
        let start = usize::try_from(u32::from_le_bytes(number(object, at))).expect("small");
        names[start..].starts_with(name.as_bytes()) && names[start + name.len()] == 0
    });
    content(found.expect("it has one"))
}

/// `core_relo_len` of `struct btf_ext_header` (linux: tools/lib/bpf/libbpf_internal.h): what has to
/// be fitted to the kernel's own types.
fn relocations(object: &[u8]) -> u32 {
    u32::from_le_bytes(number(section(object, ".BTF.ext"), 28))
}

#[test]
fn the_object_for_control_groups_needs_no_types_of_the_kernel() {
    assert_eq!(relocations(CGROUP_OBJECT), 0);
    for other in [BTF_OBJECT, KPROBE_OBJECT] {
        assert!(relocations(other) > 0, "else this test would see none");
    }
}

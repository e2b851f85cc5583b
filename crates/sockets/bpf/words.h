/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * Reading memory of the kernel that nobody holds still. A pointer may be stale by the time it is
 * followed: such a read faults safely and gives 0 (the verifier calls it untrusted), and whoever
 * reads looks again afterwards whether what was read still stands.
 */
#ifndef PORTOLAN_WORDS_H
#define PORTOLAN_WORDS_H

extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym;

#define AS(type, address) \
	((struct type *)bpf_rdonly_cast((const void *)(address), bpf_core_type_id_kernel(struct type)))

/* The word of memory at an address. */
#define WORD(address) ((__u64)AS(timespec64, address)->tv_sec)

/* The address of a field. */
#define FIELD(address, type, field) ((address) + bpf_core_field_offset(struct type, field))

#endif

/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * What user space and holders.bpf.c tell each other; src/walk/holdings.rs has the same offsets.
 */
#ifndef PORTOLAN_HOLDINGS_H
#define PORTOLAN_HOLDINGS_H

#define HOLDINGS_MAX (128 * 1024)

/* What a run begins with, if it goes on (its argument), and what it leaves. */
struct holdings {
	__u32 count;
	__u32 more;       /* the buffer was full */
	__u64 process;    /* to go on with */
	__u32 descriptor; /* and which one of its descriptors */
	__u32 lost;       /* that process ended meanwhile: all must be read again */
	struct {
		__u32 inode;
		__u32 pid;
	} held[HOLDINGS_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct holdings);
} holdings SEC(".maps");

_Static_assert(__builtin_offsetof(struct holdings, lost) == 20, "src/walk/holdings.rs reads it so");
_Static_assert(__builtin_offsetof(struct holdings, held) == 24, "src/walk/holdings.rs reads it so");

#endif

/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * A socket as a BPF program tells of it; read by src/record.rs, which has the same offsets.
 * All in host byte order but the addresses.
 */
#ifndef PORTOLAN_ROW_H
#define PORTOLAN_ROW_H

/* What a row is to carry beside addresses and state; the rest is left 0. */
enum { WANT_QUEUES = 1, WANT_HOLDER = 2, WANT_COOKIE = 4, WANT_TIMER = 8 };

struct row {
	__u8 family; /* AF_INET: four bytes of each address follow; AF_INET6: sixteen */
	__u8 state;
	__u8 timer;
	__u8 retransmits;
	__u16 local_port;
	__u16 remote_port;
	__u32 receive_queue;
	__u32 send_queue;
	__u32 interface;
	__u32 uid;
	__u32 inode;
	__u32 expires_ms;
	__u64 cookie; /* 0: not told */
};

#define ROW_BYTES 40
_Static_assert(sizeof(struct row) == ROW_BYTES, "src/record.rs reads it so");
_Static_assert(__builtin_offsetof(struct row, receive_queue) == 8, "src/record.rs");
_Static_assert(__builtin_offsetof(struct row, uid) == 20, "src/record.rs");
_Static_assert(__builtin_offsetof(struct row, cookie) == 32, "src/record.rs");

#endif

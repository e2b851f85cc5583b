/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * From a socket that an iterator holds still to a row. Everything is read through pointers whose
 * type the verifier knows, which kernels that are locked down allow too.
 */
#ifndef PORTOLAN_ITER_H
#define PORTOLAN_ITER_H

#include "meta.h"
#include "row.h"

/* What a reading is to tell; src/iter/program.rs has the same offsets. */
struct asked {
	__u32 states; /* bit n for state n */
	__u32 want;   /* WANT_* */
	__u64 tick_ns; /* how long a jiffy takes */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct asked);
} asked_for SEC(".maps");

struct record {
	struct row row;
	__be32 addresses[8];
};

static __always_inline bool is_wanted(const struct asked *asked, __u8 state)
{
	return asked->states >> (state & 31) & 1;
}

/* What all kinds of sockets have. */
static __always_inline void begin(struct record *record, struct sock_common *sk, __u8 state)
{
	struct row *row = &record->row;
	__be32 *to = record->addresses;

	__builtin_memset(record, 0, sizeof(*record));
	row->family = sk->skc_family;
	row->state = state;
	row->local_port = sk->skc_num;
	row->remote_port = __builtin_bswap16(sk->skc_dport);
	row->interface = sk->skc_bound_dev_if;
	if (row->family == AF_INET) {
		to[0] = sk->skc_rcv_saddr;
		to[1] = sk->skc_daddr;
		return;
	}
#pragma clang loop unroll(full)
	for (int i = 0; i < 4; i++) {
		to[i] = sk->skc_v6_rcv_saddr.in6_u.u6_addr32[i];
		to[4 + i] = sk->skc_v6_daddr.in6_u.u6_addr32[i];
	}
}

/* In one piece: where it does not fit, the kernel takes back what was written of this socket, and
 * shows it again in the next read. */
static __always_inline void tell(struct meta *meta, struct record *record)
{
	__u32 length = record->row.family == AF_INET ? ROW_BYTES + 8 : ROW_BYTES + 32;

	bpf_seq_write(meta->seq, record, length);
}

/* Nobody holds what was not accepted yet, or was closed. */
static __always_inline void read_holder(struct row *row, struct sock *sk)
{
	struct socket *socket;
	struct inode *inode;

	if (bpf_core_field_exists(sk->sk_ino)) {
		row->inode = sk->sk_ino;
		row->uid = sk->sk_uid.val;
		return;
	}
	socket = sk->sk_socket;
	if (!socket || !socket->file)
		return;
	inode = socket->file->f_inode;
	row->inode = inode->i_ino;
	row->uid = inode->i_uid.val;
}

#endif

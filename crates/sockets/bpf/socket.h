/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * From a socket of the kernel to a row, by its address (words.h).
 */
#ifndef PORTOLAN_SOCKET_H
#define PORTOLAN_SOCKET_H

#include "row.h"
#include "words.h"

/* Any socket in the hash table, as far as it is what its state says. */
#define COMMON(address) AS(tcp_sock, address)->inet_conn.icsk_inet.sk.__sk_common
#define FULL(address) AS(tcp_sock, address)->inet_conn.icsk_inet.sk

/* The state that sock_diag would tell: a TIME-WAIT socket may stand in for one in FIN-WAIT-2. */
static __always_inline __u8 state_of(__u64 address)
{
	__u8 state = COMMON(address).skc_state;

	if (state == TCP_TIME_WAIT)
		return AS(inet_timewait_sock, address)->tw_substate & 15;
	return state == TCP_NEW_SYN_RECV ? TCP_SYN_RECV : state & 15;
}

/* Nobody holds what was not accepted yet, or was closed. */
static __always_inline void read_holder(struct row *row, __u64 address)
{
	if (bpf_core_field_exists(struct tcp_sock, inet_conn.icsk_inet.sk.sk_ino)) {
		row->inode = FULL(address).sk_ino;
		row->uid = FULL(address).sk_uid.val;
		return;
	}
	__u64 socket = WORD(FIELD(address, tcp_sock, inet_conn.icsk_inet.sk.sk_socket));

	if (socket) {
		struct socket_alloc *both = AS(socket_alloc, socket);

		row->inode = both->vfs_inode.i_ino;
		row->uid = both->vfs_inode.i_uid.val;
	}
}

static __always_inline __u32 read_addresses(__u8 *to, __u64 address, __u8 family)
{
	__be32 *words = (void *)to;

	if (family == AF_INET) {
		words[0] = COMMON(address).skc_rcv_saddr;
		words[1] = COMMON(address).skc_daddr;
		return 8;
	}
#pragma clang loop unroll(full)
	for (int i = 0; i < 4; i++) {
		words[i] = COMMON(address).skc_v6_rcv_saddr.in6_u.u6_addr32[i];
		words[4 + i] = COMMON(address).skc_v6_daddr.in6_u.u6_addr32[i];
	}
	return 32;
}

static __always_inline void read_queues(struct row *row, __u64 address)
{
	struct tcp_sock *tcp = AS(tcp_sock, address);
	__s32 unread = tcp->rcv_nxt - tcp->copied_seq;

	row->receive_queue = unread > 0 ? unread : 0;
	row->send_queue = tcp->write_seq - tcp->snd_una;
}

/* Whether a socket is in use and still what was read. */
static __always_inline bool stands(const struct row *row, __u64 address)
{
	return COMMON(address).skc_refcnt.refs.counter > 0 &&
	       COMMON(address).skc_num == row->local_port &&
	       COMMON(address).skc_dport == __builtin_bswap16(row->remote_port);
}

static __always_inline void read_socket(struct row *row, __u64 address, __u32 want)
{
	__u8 kind = COMMON(address).skc_state;

	__builtin_memset(row, 0, sizeof(*row));
	row->family = COMMON(address).skc_family;
	row->state = state_of(address);
	row->local_port = COMMON(address).skc_num;
	row->remote_port = __builtin_bswap16(COMMON(address).skc_dport);
	row->interface = COMMON(address).skc_bound_dev_if;
	/* These two are smaller structures, with nothing behind what all have. */
	if (kind == TCP_TIME_WAIT || kind == TCP_NEW_SYN_RECV)
		return;
	if (want & WANT_QUEUES)
		read_queues(row, address);
	if (want & WANT_HOLDER)
		read_holder(row, address);
}

#endif

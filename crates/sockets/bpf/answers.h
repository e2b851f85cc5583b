/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * Looks at sockets again whose events did not tell all: a connection gets its holder when it is
 * accepted, which is no change of state, and one in TIME-WAIT ends without any.
 *
 * The question says where the socket lay. It may be gone, and its memory another's: reading that
 * is safe (words.h), and cookies are unique, so what has the cookie is the socket.
 */
#ifndef PORTOLAN_ANSWERS_H
#define PORTOLAN_ANSWERS_H

#include "follow.h"
#include "socket.h"

#define CHAIN_MAX (1 << 16)
#define ATTEMPTS 8

struct questions {
	struct question all[QUESTIONS_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct questions);
} asked SEC(".maps");

/* A loop's context is on the stack. */
struct answering {
	struct questions *all;
	__u64 cookie;
	__u64 node;
};

static long look(__u32 i, struct answering *it)
{
	__u64 node = it->node;

	if (!node || node & 1)
		return 1;
	node -= FIELD(0, tcp_sock, inet_conn.icsk_inet.sk.__sk_common.skc_nulls_node);
	if (COMMON(node).skc_cookie.counter == it->cookie)
		return 1;
	it->node = WORD(it->node);
	return 0;
}

/* The address of the socket in a chain; 0 if it is not there, 1 if the chain will not settle. */
static __always_inline __u64 find(struct answering *it, __u64 chain, __u32 bucket)
{
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		it->node = WORD(chain);
		bpf_loop(CHAIN_MAX, look, it, 0);
		if (it->node && !(it->node & 1))
			return it->node - FIELD(0, tcp_sock,
						inet_conn.icsk_inet.sk.__sk_common.skc_nulls_node);
		/* One that is moved to another chain leads to that one's end. */
		if (it->node & 1 && it->node >> 1 == bucket)
			return 0;
	}
	return 1;
}

/* How many connections to a listener are half-open. */
static __always_inline __u32 half_open(__u64 listener)
{
	struct request_sock_queue *queue = &AS(tcp_sock, listener)->inet_conn.icsk_accept_queue;

	return queue->qlen.counter + queue->fastopenq.qlen;
}

static __always_inline void read_answer(struct question *one, __u64 address, __u64 cookie)
{
	one->row.family = IS_GONE;
	if (!address || COMMON(address).skc_cookie.counter != cookie)
		return;
	read_socket(&one->row, address, WANT_HOLDER);
	read_addresses((__u8 *)one->addresses, address, one->row.family);
	if (one->row.state == TCP_LISTEN)
		one->row.receive_queue = half_open(address);
	if (COMMON(address).skc_cookie.counter != cookie)
		one->row.family = IS_GONE;
}

static long answer(__u32 i, struct answering *it)
{
	struct question *one = &it->all->all[i & (QUESTIONS_MAX - 1)];
	__u64 address = one->address;

	it->cookie = one->cookie;
	if (one->bucket != AT_SOCKET)
		address = find(it, address, one->bucket);
	if (address == 1)
		one->row.family = IS_UNKNOWN;
	else
		read_answer(one, address, it->cookie);
	return 0;
}

/* Run by user space (BPF_PROG_TEST_RUN); the argument is how many questions there are. */
SEC("raw_tp")
int answers(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 zero = 0;
	struct answering it = { bpf_map_lookup_elem(&asked, &zero) };

	if (it.all)
		bpf_loop(ctx->args[0], answer, &it, 0);
	return 0;
}

#endif

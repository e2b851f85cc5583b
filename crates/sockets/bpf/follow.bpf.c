// SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
/*
 * Tells of every change of a TCP connection's state (the tracepoint inet_sock_set_state, which is
 * passed before the new state is stored, with the socket locked), so that a listing can be kept
 * up to date without reading the table again.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "answers.h"
#include "meta.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { IPPROTO_TCP = 6, BPF_F_NO_PREALLOC = 1, BPF_RB_NO_WAKEUP = 1 };

/* User space sets the size. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 * 1024 * 1024);
} events SEC(".maps");

/* How many events did not fit. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

/* The namespaces that are followed, by inode number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u8);
} namespaces SEC(".maps");

/* Where to ask about a socket: where it lies, or once it is closed, where one in TIME-WAIT lies. */
static __always_inline void locate(struct event *event, struct sock_common *sk, __u8 state)
{
	struct inet_hashinfo *table = sk->skc_net.net->ipv4.tcp_death_row.hashinfo;

	event->address = (__u64)sk;
	event->bucket = AT_SOCKET;
	if (state == TCP_CLOSE || state == TCP_TIME_WAIT) {
		event->bucket = sk->skc_hash & table->ehash_mask;
		event->address = (__u64)table->ehash + event->bucket * sizeof(__u64);
	}
}

/* Nobody is woken: user space looks when it wants to know. */
#define TELL(bytes)                                                                               \
	do {                                                                                      \
		struct event *event = bpf_ringbuf_reserve(&events, bytes, 0);                     \
		if (!event)                                                                       \
			goto full;                                                                \
		locate(event, &sk->__sk_common, state);                                           \
		event->netns = netns;                                                             \
		read_socket(&event->row, address, WANT_HOLDER);                                   \
		event->row.state = state;                                                         \
		event->row.cookie = cookie;                                                       \
		if (before == TCP_LISTEN)                                                         \
			event->row.receive_queue = half_open(address);                            \
		read_addresses((__u8 *)event->addresses, address,                                 \
			       bytes == EVENT_V4_BYTES ? AF_INET : AF_INET6);                     \
		bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);                                      \
	} while (0)

SEC("tp_btf/inet_sock_set_state")
int state_changes(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	int before = ctx[1], state = ctx[2];
	__u64 address = (__u64)sk;
	__u32 netns = sk->__sk_common.skc_net.net->ns.inum, zero = 0;
	__u64 *count;

	if (sk->sk_protocol != IPPROTO_TCP || !bpf_map_lookup_elem(&namespaces, &netns))
		return 0;
	/* The child of a listener, with nothing of its own yet, not even its cookie
	 * (inet_csk_clone_lock). Its next state is told. */
	if (before == TCP_LISTEN && state == TCP_SYN_RECV)
		return 0;
	__u64 cookie = bpf_get_socket_cookie(sk);

	if (sk->__sk_common.skc_family == AF_INET)
		TELL(EVENT_V4_BYTES);
	else
		TELL(EVENT_V6_BYTES);
	return 0;
full:
	count = bpf_map_lookup_elem(&lost, &zero);
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

/* All that there are before the first event, as if each were one. */
SEC("iter/tcp")
int existing(struct iter_tcp *ctx)
{
	struct sock_common *sk = ctx->socket;
	struct event event = {};

	if (!sk || sk->skc_state == TCP_NEW_SYN_RECV)
		return 0;
	event.netns = sk->skc_net.net->ns.inum;
	locate(&event, sk, sk->skc_state);
	read_socket(&event.row, (__u64)sk, WANT_HOLDER);
	event.row.cookie = bpf_get_socket_cookie(sk);
	read_addresses((__u8 *)event.addresses, (__u64)sk, event.row.family);
	bpf_seq_write(ctx->meta->seq, &event,
		      event.row.family == AF_INET ? EVENT_V4_BYTES : EVENT_V6_BYTES);
	return 0;
}

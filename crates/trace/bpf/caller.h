/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * Who calls connect(), bind(), sendmsg() and close(): programs of a control group that are run in
 * the caller's context, and say always that it may. Where a socket takes its turns (sockops.h),
 * kernels before 6.16 do not say which process runs.
 */
#ifndef PORTOLAN_CALLER_H
#define PORTOLAN_CALLER_H

#include "connection.h"
#include "datagram_cgroup.h"
#include "hooks.h"
#include "listeners.h"

/* The name is that of the thread; where it is not the first, whose name is that of the process, the
 * last byte says so, which is always 0 in the kernel. */
static __always_inline void read_caller(char *name, __u64 *cgroup, __u32 *pid)
{
	__u64 ids = bpf_get_current_pid_tgid();

	*cgroup = bpf_get_current_cgroup_id();
	*pid = ids >> 32;
	bpf_get_current_comm(name, 16);
	name[15] = (__u32)ids != ids >> 32;
}

/* connect() and bind(), of which neither may have come any further: a record that stays as it is,
 * the walk drops. */
static __always_inline void asks(struct bpf_sock_addr *ctx)
{
	__u64 cookie = bpf_get_socket_cookie(ctx);
	struct connection *known = find(cookie);

	if (!known)
		known = begin(cookie);
	else if (known->phase != ASKED)
		return;
	if (!known)
		return;
	known->phase = ASKED;
	read_caller(known->name, &known->cgroup, &known->pid);
}

/* Of a UDP socket, whatever it does first. */
static __always_inline void uses(struct bpf_sock_addr *ctx, int is_bound)
{
	struct bpf_sock *sk = ctx->sk;
	struct datagram_socket *known;

	if (!sk)
		return;
	known = bpf_sk_storage_get(&datagram_sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!known)
		return;
	if (is_bound && ctx->user_port)
		known->chosen = 1;
	if (known->name[0])
		return;
	known->netns = bpf_get_netns_cookie(ctx);
	read_caller(known->name, &known->cgroup, &known->pid);
}

static __always_inline int connects(struct bpf_sock_addr *ctx)
{
	if (ctx->protocol == IPPROTO_TCP)
		asks(ctx);
	else if (ctx->protocol == IPPROTO_UDP)
		uses(ctx, 0);
	return 1;
}

SEC("cgroup/connect4")
int connects_v4(struct bpf_sock_addr *ctx)
{
	return connects(ctx);
}

SEC("cgroup/connect6")
int connects_v6(struct bpf_sock_addr *ctx)
{
	return connects(ctx);
}

static __always_inline int is_to_bind(struct bpf_sock_addr *ctx)
{
	if (ctx->protocol == IPPROTO_TCP)
		asks(ctx);
	else if (ctx->protocol == IPPROTO_UDP)
		uses(ctx, 1);
	return 1;
}

SEC("cgroup/bind4")
int binds_v4(struct bpf_sock_addr *ctx)
{
	return is_to_bind(ctx);
}

SEC("cgroup/bind6")
int binds_v6(struct bpf_sock_addr *ctx)
{
	return is_to_bind(ctx);
}

SEC("cgroup/sendmsg4")
int sends_v4(struct bpf_sock_addr *ctx)
{
	uses(ctx, 0);
	return 1;
}

SEC("cgroup/sendmsg6")
int sends_v6(struct bpf_sock_addr *ctx)
{
	uses(ctx, 0);
	return 1;
}

/* The last descriptor is closed: the holder of an accepted connection shows himself, as in
 * closing() of change.h, and what was up before has said all that it says. */
SEC("cgroup/sock_release")
int releases(struct bpf_sock *ctx)
{
	struct connection *known;
	__u64 cookie;

	if (ctx->protocol != IPPROTO_TCP)
		return 1;
	cookie = bpf_get_socket_cookie(ctx);
	if (ctx->state == TCP_LISTEN) {
		end_to_listen(cookie);
		return 1;
	}
	known = find(cookie);
	if (!known)
		return 1;
	if (known->phase == ASKED) {
		forget(known, cookie);
		return 1;
	}
	known->released = 1;
	if (!known->name[0] && !(known->rest & OPENED))
		read_caller(known->name, &known->cgroup, &known->pid);
	return 1;
}

#endif

// SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
/*
 * Traces by tracepoints whose arguments the kernel describes (BTF), or by entries of functions
 * where those are refused. User space loads one of the two.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "change.h"
#include "datagram_cgroup.h"
#include "datagram_entry.h"
#include "existing.h"
#include "walk.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("tp_btf/inet_sock_set_state")
int by_tracepoint(__u64 *ctx)
{
	return changed((struct sock *)ctx[0], ctx[1], ctx[2]);
}

/* Attached behind the first, once events turn out to be missed. */
SEC("tp_btf/inet_sock_set_state")
int by_tracepoint_again(__u64 *ctx)
{
	return changed_unseen((struct sock *)ctx[0], ctx[1], ctx[2]);
}

SEC("fentry/tcp_set_state")
int by_entry(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];

	return changed(sk, sk->__sk_common.skc_state, ctx[1]);
}

/* tcp_set_state() is not what begins to listen. */
SEC("fexit/inet_csk_listen_start")
int by_exit_of_listen(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];

	return ctx[1] ? 0 : changed(sk, TCP_CLOSE, TCP_LISTEN);
}

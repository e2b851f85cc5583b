// SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
/*
 * Traces TCP by breakpoints in the kernel's functions, where nothing better is possible. Pointers
 * are not trusted there, so each field is read by a call.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define BY_PROBE_READ
#include "change.h"
#include "datagram_cgroup.h"
#include "datagram_entry.h"
#include "existing.h"
#include "walk.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* arch/x86/include/asm/ptrace.h: the first arguments of a function. */
struct pt_regs {
	unsigned long si;
	unsigned long di;
} __attribute__((preserve_access_index));

SEC("kprobe/tcp_set_state")
int by_probe(struct pt_regs *ctx)
{
	struct sock *sk = (struct sock *)ctx->di;

	return changed(sk, BPF_CORE_READ(sk, __sk_common.skc_state), ctx->si);
}

/* tcp_set_state() is not what begins to listen. Should that fail, its end is told as that of any
 * other socket, and the port stays known until the same socket listens again. */
SEC("kprobe/inet_csk_listen_start")
int by_probe_of_listen(struct pt_regs *ctx)
{
	return changed((struct sock *)ctx->di, TCP_CLOSE, TCP_LISTEN);
}

/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * What an iterator hands to its program, each in eight bytes (DEFINE_BPF_ITER_FUNC). That is how
 * the kernel passes arguments, so it need not be looked for in its type information.
 */
#ifndef PORTOLAN_META_H
#define PORTOLAN_META_H

struct seq_file;

struct meta {
	struct seq_file *seq;
};

struct iter_tcp {
	struct meta *meta;
	struct sock_common *socket;
};

struct iter_udp {
	struct meta *meta;
	struct udp_sock *socket;
};

struct iter_task_file {
	struct meta *meta;
	struct task_struct *task;
	__u64 descriptor;
	struct file *file;
};

#endif

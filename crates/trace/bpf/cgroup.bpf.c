// SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
/*
 * Traces by the root control group alone, where the kernel does not describe its types or takes no
 * programs that trace. Nothing here may read a structure of the kernel's own: whatever needs its
 * description is not loaded then.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define BY_COOKIE
#include "datagram_cgroup.h"
#include "listed.h"
#include "sockops.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#!/usr/bin/env python3
"""Records the sock_diag dumps and /proc/net tables that the codec tests read.

Run as root on the kernel to record: `unshare -n python3 record.py`. The namespace is empty, so
only the sockets opened below, all on loopback addresses, are in the files. Each .bin file is one
dump: its datagrams one after the other, as the kernel sent them.
"""

import fcntl
import os
import socket
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
NETLINK_SOCK_DIAG = 4
SIOCSIFFLAGS = 0x8914
TCP_INFO = 1 << 1


def loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", 1))


def connection(family, address, port):
    listener = socket.create_server((address, port), family=family)
    client = socket.create_connection((address, port))
    server, _ = listener.accept()
    client.sendall(b"portolan" * 100)
    got = 0
    while got < 800:
        got += len(server.recv(4096))
    server.sendall(b"answer")
    assert client.recv(100) == b"answer"
    return [listener, client, server]


def time_wait(family, address, port):
    listener, client, server = connection(family, address, port)
    server.close()
    client.recv(1)
    client.close()
    return [listener]


def udp(family, address, port):
    server = socket.socket(family, socket.SOCK_DGRAM)
    server.bind((address, port))
    client = socket.socket(family, socket.SOCK_DGRAM)
    client.connect((address, port))
    client.send(b"not read")
    return [server, client]


def dump(name, family, protocol, extensions):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as s:
        body = struct.pack("=BBBxI48x", family, protocol, extensions, 0x1FFE)
        s.send(struct.pack("=IHHII", 16 + len(body), 20, 0x301, 7, 0) + body)
        recorded = b""
        while True:
            datagram = s.recv(65536)
            recorded += datagram
            at, done = 0, False
            while at < len(datagram):
                length, kind = struct.unpack_from("=IH", datagram, at)
                done |= kind in (2, 3)
                at += (length + 3) & ~3
            if done:
                break
    with open(os.path.join(HERE, name + ".bin"), "wb") as f:
        f.write(recorded)


def main():
    loopback_up()
    keep = connection(socket.AF_INET, "127.0.0.1", 5432)
    keep += time_wait(socket.AF_INET, "127.0.0.2", 8080)
    keep += connection(socket.AF_INET6, "::1", 5433)
    keep += time_wait(socket.AF_INET6, "::1", 8081)
    both = socket.create_server(("::", 9092), family=socket.AF_INET6, dualstack_ipv6=True)
    keep += [both, socket.create_connection(("127.0.0.1", 9092)), both.accept()[0]]
    keep += udp(socket.AF_INET, "127.0.0.1", 53)
    keep += udp(socket.AF_INET6, "::1", 53)
    for version, family in (("4", socket.AF_INET), ("6", socket.AF_INET6)):
        dump("tcp" + version, family, socket.IPPROTO_TCP, TCP_INFO)
        dump("udp" + version, family, socket.IPPROTO_UDP, 0)
    for table in ("tcp", "tcp6", "udp", "udp6"):
        with open("/proc/net/" + table) as source, open(f"{HERE}/proc-{table}.txt", "w") as f:
            f.write(source.read())


main()

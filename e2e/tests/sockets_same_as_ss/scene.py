"""Sockets in every state that ss(8) lists, in the network namespace that this runs in.

The peers are no programs: they are this script at the far end of a TUN device, one segment at a
time. So a connection stays in the state that it was brought into, and nothing has to be timed.

Prints one JSON object when all is there: the names of processes by the ports that they listen on,
and the interfaces. Then, for every line read, makes a new TIME-WAIT (the only state that ends by
itself, after a minute) and prints "again". Ends with its standard input.
"""

import fcntl
import json
import os
import select
import socket
import struct
import subprocess
import sys
import threading
import time

PATIENCE = 60
DEVICE = "ptl-tun"
OWN = {4: "198.51.100.1", 6: "2001:db8:5::1", "mapped": "::ffff:198.51.100.1", "link": "fe80::1"}
PEER = {4: "198.51.100.2", 6: "2001:db8:5::2", "mapped": "::ffff:198.51.100.2", "link": "fe80::2"}
FIN, SYN, ACK = 1, 2, 16
# How often the kernel tries again before it gives up: longer than any test takes.
SETTINGS = {
    "tcp_syn_retries": 40, "tcp_synack_retries": 40, "tcp_retries2": 40, "tcp_orphan_retries": 40,
    "tcp_fin_timeout": 120, "ip_unprivileged_port_start": 0,
}

kept = []  # Sockets that stay open.
ports = iter(range(20000, 30000))


class Tun:
    """The link to the peers."""

    def __init__(self):
        self.fd = os.open("/dev/net/tun", os.O_RDWR)
        # IFF_TUN | IFF_NO_PI
        fcntl.ioctl(self.fd, 0x400454CA, struct.pack("16sH22x", DEVICE.encode(), 0x1001))
        for args in (
            f"address add {OWN[4]}/24 dev {DEVICE}",
            f"address add {OWN[6]}/64 dev {DEVICE} nodad",
            f"link set {DEVICE} addrgenmode none",
            f"link set {DEVICE} up",
            f"address add {OWN['link']}/64 dev {DEVICE} nodad",
        ):
            subprocess.run(["ip", *args.split()], check=True)
        self.index = socket.if_nametoindex(DEVICE)

    def receive(self, own_port, peer_port, wanted):
        """Waits for a segment with `wanted` flags; those that came before it are dropped."""
        deadline = time.monotonic() + PATIENCE
        while True:
            left = deadline - time.monotonic()
            if left < 0 or not select.select([self.fd], [], [], left)[0]:
                sys.exit(f"no segment {own_port} -> {peer_port} with the flags {wanted:#x}")
            packet = os.read(self.fd, 65536)
            start = 40 if packet[0] >> 4 == 6 else 20
            if packet[6 if start == 40 else 9] != socket.IPPROTO_TCP:
                continue
            source, target, sequence, acknowledged, _, flags = struct.unpack_from(
                "!HHIIBB", packet, start)
            if (source, target) == (own_port, peer_port) and flags & wanted == wanted:
                return sequence, acknowledged

    def drain(self):
        os.read(self.fd, 65536)

    def send(self, version, own_port, peer_port, flags, sequence, acknowledged, data, window):
        source, target = address_bytes(PEER[version]), address_bytes(OWN[version])
        head = struct.pack("!HHIIBBHHH", peer_port, own_port, sequence, acknowledged, 0x50, flags,
                           window, 0, 0)
        pseudo = source + target + struct.pack("!IHBB", len(head + data), 0, 0, 6)
        tcp = head[:16] + struct.pack("!H", checksum(pseudo + head + data)) + head[18:] + data
        if len(source) == 4:
            ip = struct.pack("!BBHIBBH", 0x45, 0, 20 + len(tcp), 0, 64, 6, 0) + source + target
            ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        else:
            ip = struct.pack("!IHBB", 6 << 28, len(tcp), 6, 64) + source + target
        os.write(self.fd, ip + tcp)


class Connection:
    """A connection of the kernel's, seen from its peer."""

    def __init__(self, tun, version, own_port, peer_port):
        self.tun, self.version = tun, version
        self.own_port, self.peer_port = own_port, peer_port
        self.sequence, self.acknowledged, self.window = 1000, 0, 65535

    def send(self, flags, data=b""):
        self.tun.send(self.version, self.own_port, self.peer_port, flags, self.sequence,
                      self.acknowledged, data, self.window)
        self.sequence += len(data) + (1 if flags & (SYN | FIN) else 0)

    def receive(self, flags):
        return self.tun.receive(self.own_port, self.peer_port, flags)

    def syn_sent(self, prepare=lambda sock: None):
        """The kernel's SYN is on its way."""
        self.sock = bound(self.version, self.own_port)
        prepare(self.sock)
        self.sock.setblocking(False)
        self.sock.connect_ex(target(self.tun, self.version, self.peer_port))
        self.acknowledged = self.receive(SYN)[0] + 1
        return self

    def established(self, prepare=lambda sock: None, window=65535):
        self.syn_sent(prepare)
        self.window = window
        self.send(SYN | ACK)
        self.receive(ACK)
        return self

    def half_open(self):
        """The kernel's SYN+ACK is on its way."""
        self.send(SYN)
        self.acknowledged = self.receive(SYN | ACK)[0] + 1
        return self

    def pending(self):
        """Established, and nobody called accept(). The data is there to be acknowledged."""
        self.half_open().send(ACK)
        self.send(ACK, b"hello")
        self.receive(ACK)
        return self

    def shut(self):
        self.sock.shutdown(socket.SHUT_WR)
        self.receive(FIN)
        return self

    def acknowledge_fin(self):
        self.acknowledged += 1
        self.send(ACK)
        return self

    def finish(self):
        """The peer's FIN, and the kernel's answer."""
        self.send(FIN | ACK)
        while self.receive(ACK)[1] != self.sequence:
            pass
        return self

    def orphan(self):
        """No process holds it any more."""
        self.sock.close()
        kept.remove(self.sock)
        return self


def checksum(data):
    words = struct.unpack(f"!{(len(data) + 1) // 2}H", data + bytes(len(data) % 2))
    total = sum(words)
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def address_bytes(text):
    """An IPv4-mapped address travels as IPv4."""
    text = text.removeprefix("::ffff:")
    return socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)


def target(tun, version, port):
    return (PEER[version], port) if version == 4 else (
        PEER[version], port, 0, tun.index if version == "link" else 0)


def opened(family, kind):
    sock = socket.socket(family, kind)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    kept.append(sock)
    return sock


def bound(version, port):
    sock = opened(socket.AF_INET if version == 4 else socket.AF_INET6, socket.SOCK_STREAM)
    own = (OWN[version], port)
    scope = (0, socket.if_nametoindex(DEVICE)) if version == "link" else ()
    sock.bind(own + scope)
    return sock


def at(address, port, kind=socket.SOCK_STREAM, v6only=None, device=None, scope=0):
    """A socket at an address of its own, perhaps bound to a device."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = opened(family, kind)
    if v6only is not None:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, v6only)
    if device:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
    sock.bind((address, port) if family == socket.AF_INET else (address, port, 0, scope))
    return sock


def listeners(tun):
    """TCP, in LISTEN: wildcard, loopback, one family only, bound to a device, link-local."""
    for address, port, backlog, more in (
        ("0.0.0.0", 80, 128, {}), ("127.0.0.1", 443, 1, {}), ("::", 8080, 4096, {}),
        ("::", 8081, 5, {"v6only": 1}), ("::1", 22, 5, {}), ("0.0.0.0", 8081, 0, {}),
        (OWN[4], 5432, 511, {}), (OWN["mapped"], 5433, 511, {}), (OWN[6], 5432, 511, {}),
        ("0.0.0.0", 53, 10, {"device": "lo"}), ("::", 53, 10, {"device": DEVICE}),
        ("127.0.0.1", 54, 10, {"device": "lo"}), ("::", 55, 10, {"device": "lo", "v6only": 1}),
        (OWN["link"], 5434, 10, {"scope": tun.index}),
    ):
        at(address, port, **more).listen(backlog)
    # Bound, and no more: no tool lists it.
    at("127.0.0.1", 7777)


def half_opens(tun):
    """Whatever comes in through a listener: SYN-RECV, waiting for accept(), accepted."""
    for version, port in ((4, 5432), (4, 8080), (6, 8080), (6, 5432), ("mapped", 5433),
                          ("link", 5434)):
        Connection(tun, version, port, next(ports)).half_open()
    # A queue of those that wait: Recv-Q of the listener.
    for version, port, waiting in ((4, 80, 3), (6, 8081, 2), ("mapped", 8080, 1)):
        for _ in range(waiting):
            Connection(tun, version, port, next(ports)).pending()
    listener = at(OWN[4], 5435)
    listener.listen(4)
    for _ in range(2):
        Connection(tun, 4, 5435, next(ports)).pending()
        kept.append(listener.accept()[0])


def keepalive(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def to_device(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, DEVICE.encode())


def connections(tun, version):
    """Every state of a connection of the kernel's own."""
    def fresh():
        return Connection(tun, version, next(ports), next(ports))
    fresh().syn_sent()
    fresh().established()
    fresh().established(keepalive)
    fresh().established(to_device)
    received = fresh().established()
    received.send(ACK, b"x" * 300)
    received.receive(ACK)
    fresh().established().sock.send(b"x" * 2000)
    # A window of nothing: the zero-window probe.
    fresh().established(window=0).sock.send(b"x" * 3000)
    fresh().established().shut()
    fresh().established().shut().orphan()
    fresh().established().shut().acknowledge_fin()
    fresh().established().shut().acknowledge_fin().orphan()
    fresh().established().shut().finish()
    fresh().established().shut().finish().orphan()
    fresh().established().shut().acknowledge_fin().finish()
    fresh().established().finish()
    fresh().established().finish().shut()
    fresh().established().finish().shut().orphan()


def unanswered(tun):
    """A keep-alive probe that nobody answers; the next one would be in an hour."""
    def soon(sock):
        keepalive(sock)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 3600)
    Connection(tun, 4, next(ports), next(ports)).established(soon).receive(ACK)


def time_wait(tun):
    for version in OWN:
        connection = Connection(tun, version, next(ports), next(ports)).established()
        connection.shut().acknowledge_fin().finish().orphan()


def datagrams(tun):
    """UDP, with a peer and without."""
    udp = socket.SOCK_DGRAM
    for address, port, more in (
        ("0.0.0.0", 53, {}), ("127.0.0.1", 123, {}), ("::", 5353, {}), ("::", 53, {"v6only": 1}),
        ("::1", 123, {}), (OWN[4], 514, {}), (OWN["mapped"], 515, {}), (OWN[6], 514, {}),
        ("0.0.0.0", 67, {"device": DEVICE}), ("::", 547, {"device": DEVICE}),
        (OWN["link"], 546, {"scope": tun.index}), ("127.0.0.1", 68, {"device": "lo"}),
    ):
        at(address, port, udp, **more)
    at("127.0.0.1", 6000, udp)
    for address, more in (("127.0.0.1", {}), (OWN[4], {"device": DEVICE})):
        at(address, next(ports), udp, **more).connect(
            ("127.0.0.1", 6000) if not more else (PEER[4], 6000))
    for version in (6, "mapped", "link"):
        opened(socket.AF_INET6, udp).connect(target(tun, version, 6001))
    # Received and not read; written and held back.
    sender = at("127.0.0.1", 6002, udp)
    for _ in range(3):
        sender.sendto(b"x" * 100, ("127.0.0.1", 6000))
    corked = at("127.0.0.1", 6003, udp)
    corked.connect(("127.0.0.1", 6000))
    corked.send(b"x" * 100, socket.MSG_MORE)


NAMES = (
    "fifteen-letters", "two words", " blanks ", "a (b) c", "end)", ")", 'quo"te', "it's",
    'x",pid=1,fd=2)', '(("x",pid=1))', "users:((", "z[1] uid:9", "uid:9 inode:9", "ünïcödé",
    "ööööööööö", "日本語日本", "back\\slash", "line\nfeed", "tab\there", "\x1b[31m", "%s%n", "-p",
    "a\ntcp LISTEN 0", "", "a-program-with-",
)
NAMES_FROM = 9000
LONG_NAME = "a-program-with-a-long-name"


def holders(tun):
    """Processes with names that are hard to read, of several users, in threads, sharing."""
    for number, name in enumerate(NAMES):
        port = NAMES_FROM + number

        def alone(port=port):
            at("127.0.0.1", port).listen(1)
            at("::1", port, socket.SOCK_DGRAM)
        process(cut(name), (0, 1000, 65534, 4242, 4000000000)[number % 5], alone, port)
    shared = at("127.0.0.1", 9100)
    shared.listen(3)
    for number in range(3):
        process(f"shares-{number}".encode(), 1000 + number, lambda: None)
    kept.remove(shared)
    shared.close()
    # Two listeners at one address, of two processes.
    for number in range(2):
        def again():
            sock = opened(socket.AF_INET, socket.SOCK_STREAM)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            sock.bind(("127.0.0.1", 9101))
            sock.listen(8)
        process(f"reuses-{number}".encode(), 0, again)

    def threads():
        done = threading.Barrier(9)

        def thread(number):
            with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as comm:
                comm.write(f"thread-{number}")
            at("127.0.0.1", 9110 + number).listen(1)
            done.wait()
            threading.Event().wait()
        for number in range(8):
            threading.Thread(target=thread, args=(number,), daemon=True).start()
        done.wait()
    process(b"many-threads", 0, threads)


def cut(name):
    """What the kernel keeps of a name."""
    return name.encode()[:15]


def names():
    """What processes are called, to somebody who sees whole names, by port."""
    known = {"": "(no name)", LONG_NAME[:15]: LONG_NAME}
    return {NAMES_FROM + number: known.get(name, cut(name).decode(errors="replace"))
            for number, name in enumerate(NAMES)}


def process(name, user, work, port=0):
    """Starts a process that does its work and then stays; returns when the work is done."""
    done, tell = os.pipe()
    if os.fork() == 0:
        os.close(done)
        if name == cut(LONG_NAME):
            # For the kernel's fifteen bytes there is a whole name in the command line.
            os.dup2(tell, 3)
            os.set_inheritable(3, True)
            os.execv(sys.executable, [LONG_NAME, sys.argv[0], "long", str(port)])
        with open("/proc/self/comm", "wb", buffering=0) as comm:
            comm.write(name or b"\0")
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        work()
        os.write(tell, b".")
        stay()
    os.close(tell)
    if os.read(done, 1) != b".":
        sys.exit(f"the process {name!r} failed")
    os.close(done)


def long_name():
    with open("/proc/self/comm", "wb", buffering=0) as comm:
        comm.write(cut(LONG_NAME))
    at("127.0.0.1", int(sys.argv[2])).listen(1)
    os.write(3, b".")
    stay()


def stay():
    while True:
        time.sleep(3600)


def main():
    for name, value in SETTINGS.items():
        with open(f"/proc/sys/net/ipv4/{name}", "w") as setting:
            setting.write(str(value))
    tun = Tun()
    # Before there are others that they would inherit.
    holders(tun)
    listeners(tun)
    half_opens(tun)
    for version in OWN:
        connections(tun, version)
    datagrams(tun)
    unanswered(tun)
    time_wait(tun)
    print(json.dumps({"names": names(), "devices": {"lo": 1, DEVICE: tun.index}}), flush=True)
    while True:
        readable = select.select([0, tun.fd], [], [])[0]
        if tun.fd in readable:
            tun.drain()
        if 0 in readable:
            if not os.read(0, 4096):
                return
            time_wait(tun)
            print("again", flush=True)


if __name__ == "__main__":
    long_name() if sys.argv[1:2] == ["long"] else main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A gateway here, a simulator in a second network namespace, and between them two tun devices
whose packets wait. Runs as root of a user namespace with a network of its own (unshare -rn).

    slow_link.py --check
    slow_link.py PROGRAM DIRECTORY DELAY_MS REQUEST_JSON     prints "told {...}"
"""
import ctypes
import fcntl
import heapq
import json
import os
import re
import select
import struct
import subprocess
import sys
import threading
import time
import urllib.request

CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
libc = ctypes.CDLL(None, use_errno=True)


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def tun_open(address):
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", b"link0", IFF_TUN | IFF_NO_PI))
    for command in (f"addr add {address}/30 dev link0", "link set link0 up", "link set lo up"):
        subprocess.run(["ip", *command.split()], check=True)
    return fd


def relay(a, b, delay_s):
    """Packets of one side go to the other when they have waited."""
    waiting, other, n = [], {a: b, b: a}, 0
    while True:
        timeout = max(0, waiting[0][0] - time.monotonic()) if waiting else None
        for fd in select.select([a, b], [], [], timeout)[0]:
            heapq.heappush(waiting, (time.monotonic() + delay_s, n, other[fd], os.read(fd, 65536)))
            n += 1
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, fd, packet = heapq.heappop(waiting)
            os.write(fd, packet)


def started(args, pattern):
    """A process that has printed that: (process, match)."""
    p = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=sys.stderr, text=True)
    for line in p.stdout:
        match = re.search(pattern, line)
        if match:
            return p, match
    sys.exit(f"{args} ended")


def fetch(url, body=None):
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=20) as r:
        return r.status, r.read().decode()


def waited(what, look):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        value = look()
        if value:
            return value
        time.sleep(0.01)
    sys.exit(f"waited in vain for {what}")


def gateway_of(program, directory, upstream):
    path, log = os.path.join(directory, "g.yaml"), os.path.join(directory, "requests.jsonl")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"listen": ["127.0.0.1:0"], "workers": 1, "log": {"file": log},
                   "upstreams": [{"name": "up", "url": f"http://{upstream}"}],
                   "admin": {"listen": "127.0.0.1:0"}, "probe": {"interval": "100ms"}}, f)
    p, match = started([program, "serve", "-c", path], r"ready listen=(\S+) admin=(\S+)")
    return p, match[1], match[2], log


def probed_tcp_s(admin):
    """The mean of the probes' TCP handshakes, once there is one."""
    page = fetch(f"http://{admin}/metrics")[1]
    found = dict(re.findall(r'^llm_probe_connect_seconds_(sum|count)\{.*step="tcp".*\} (\S+)', page, re.M))
    return float(found["sum"]) / float(found["count"]) if found else None


def main():
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    near = tun_open("10.9.0.1")
    checked(libc.unshare(CLONE_NEWNET))
    far = tun_open("10.9.0.2")
    if sys.argv[1] == "--check":
        return
    program, directory, delay_ms, body = sys.argv[1:]
    threading.Thread(target=relay, args=(near, far, float(delay_ms) / 1000), daemon=True).start()
    sim, match = started([program, "sim", "--listen", "10.9.0.2:0"], r"listening on (\S+)")
    checked(libc.setns(here, CLONE_NEWNET))
    gateway, listen, admin, log = gateway_of(program, directory, match[1])
    try:
        status, _ = fetch(f"http://{listen}/v1/chat/completions", body.encode())
        line = waited("the record", lambda: os.path.exists(log) and open(log, encoding="utf-8").readline())
        tcp_s = waited("a probe", lambda: probed_tcp_s(admin))
        print("told", json.dumps({"status": status, "record": json.loads(line), "tcp_s": tcp_s}), flush=True)
    finally:
        for p in (gateway, sim):
            p.terminate()
            p.wait(20)


main()

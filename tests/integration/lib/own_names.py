#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program with names of its own: /etc/hosts and the name server are made up. Runs as root of a
user namespace with mounts of its own (unshare -rm); for a name server also with a network of its
own (unshare -rmn), where port 53 is free.

    own_names.py hosts DIRECTORY "ADDRESS NAME;..." PROGRAM ARG...
    own_names.py dns DIRECTORY failing|silent PROGRAM ARG...
"""
import os
import socket
import subprocess
import sys
import threading

SERVFAIL = 2


def put(directory, path, text):
    source = os.path.join(directory, os.path.basename(path))
    with open(source, "w", encoding="utf-8") as f:
        f.write(text)
    subprocess.run(["mount", "--bind", source, path], check=True)


def serve(sock, mode):
    """Every question is answered with a failure, or not at all."""
    while True:
        question, client = sock.recvfrom(4096)
        if mode == "failing":
            sock.sendto(question[:2] + bytes([0x81, 0x80 | SERVFAIL]) + question[4:], client)


def main():
    kind, directory, what, *command = sys.argv[1:]
    put(directory, "/etc/nsswitch.conf", "hosts: files dns\n")
    if kind == "hosts":
        put(directory, "/etc/hosts", what.replace(";", "\n") + "\n")
    else:
        put(directory, "/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind(("127.0.0.1", 53))
        threading.Thread(target=serve, args=(sock, what), daemon=True).start()
    sys.exit(subprocess.run(command, check=False).returncode)


main()

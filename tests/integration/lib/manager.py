#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A service manager as small as can be: opens sockets, starts a program with them, prints what it tells.

manager.py [--socket ADDR:PORT[=NAME]]... [--watchdog-ms N] -- PROGRAM ARGS...

Lines of the notify protocol go to standard error as "notify: LINE". SIGTERM, SIGINT and SIGHUP are passed on to the
program; after SIGUSR1 the program is ended with SIGTERM and started anew with the same sockets. Leaves with the status of
the program that ran last.
"""
import argparse
import os
import select
import signal
import socket
import sys
import tempfile

FIRST_FD = 3


def listener(text):
    address, _, name = text.partition("=")
    host, _, port = address.rpartition(":")
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    s = socket.socket(family, socket.SOCK_STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((host.strip("[]"), int(port)))
    s.listen(4096)
    return s, name


def run_program(command, sockets, environment):
    pid = os.fork()
    if pid:
        return pid
    try:
        # Out of the way first: a socket may have the number that another one is to get.
        copies = [os.dup2(s.fileno(), 100 + i) for i, (s, _) in enumerate(sockets)]
        for i, fd in enumerate(copies):
            os.dup2(fd, FIRST_FD + i)
            os.close(fd)
        if sockets:
            environment["LISTEN_PID"] = str(os.getpid())
            environment["LISTEN_FDS"] = str(len(sockets))
            if any(name for _, name in sockets):
                environment["LISTEN_FDNAMES"] = ":".join(name or "unknown" for _, name in sockets)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.execvpe(command[0], command, environment)
    except OSError as e:
        print(f"manager: {command[0]}: {e}", file=sys.stderr)
    finally:
        os._exit(127)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", action="append", default=[])
    parser.add_argument("--watchdog-ms", type=int, default=0)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    sockets = [listener(text) for text in options.socket]
    for s, _ in sockets:
        print(f"socket: {s.getsockname()[0]}:{s.getsockname()[1]}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as directory:
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify.bind(os.path.join(directory, "notify"))
        environment = {**os.environ, "NOTIFY_SOCKET": notify.getsockname()}
        if options.watchdog_ms:
            environment["WATCHDOG_USEC"] = str(options.watchdog_ms * 1000)
        sys.exit(serve(options.command, sockets, notify, environment))


def serve(command, sockets, notify, environment):
    waker, woken = socket.socketpair()
    woken.setblocking(False)
    signal.set_wakeup_fd(woken.fileno())
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    pid = run_program(command, sockets, environment)
    must_restart = False
    while True:
        ready, _, _ = select.select([notify, waker], [], [])
        if notify in ready:
            for line in notify.recv(4096).decode().splitlines():
                print(f"notify: {line}", file=sys.stderr, flush=True)
        if waker not in ready:
            continue
        for number in waker.recv(64):
            if number == signal.SIGUSR1:
                must_restart = True
                os.kill(pid, signal.SIGTERM)
            elif number != signal.SIGCHLD:
                os.kill(pid, number)
            elif os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                if not must_restart:
                    # Python gives its handlers up on its way out, and the status is what is left to tell.
                    for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
                        signal.signal(ignored, signal.SIG_IGN)
                    return status if status >= 0 else 128 - status
                must_restart = False
                pid = run_program(command, sockets, environment)


main()

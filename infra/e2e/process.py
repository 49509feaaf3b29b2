"""Processes of a run's own, which don't outlive it, even if it is killed."""

import ctypes
import os
import pwd
import signal
import socket
import subprocess

PR_SET_PDEATHSIG = 1

libc = ctypes.CDLL(None)


def start(args, log, signal_at_death=signal.SIGTERM, **options):
    """A process with its output in `log`, in a group of its own: Ctrl-C is for us to act on."""

    def die_with_parent():
        libc.prctl(PR_SET_PDEATHSIG, int(signal_at_death))

    with open(log, "ab") as output:
        return subprocess.Popen(
            args,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_parent,
            **options,
        )


def stop(process, *signals):
    """One signal after the other, ten seconds apart, and at last whatever is left of its group."""
    for number in signals:
        process.send_signal(number)
        try:
            process.wait(10)
            break
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def as_server():
    """Postgres refuses to run as root: root runs it as nobody."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]

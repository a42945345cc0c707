"""How a demonstration ends: whoever ends it, the processes that it started are ended with it."""

import os
import signal
import sys

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def stop(number, _):
    for other in STOPS:
        signal.signal(other, signal.SIG_IGN)  # nothing may come between us and the end of the processes
    raise SystemExit(128 + number)


def run(body):
    """The status of body(), which ends what it started in a finally; with a signal 128 and its number."""
    for number in STOPS:
        signal.signal(number, stop)
    try:
        return body()
    except BrokenPipeError:
        # Nobody reads any more; the processes have been ended.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1

"""How a run speaks, waits and fails."""

import time

BEGAN = time.monotonic()


class Failure(Exception):
    """What is wrong, in a sentence."""


def step(text):
    print(f"{time.monotonic() - BEGAN:6.1f} s  {text}", flush=True)


def eventually(what, seconds, look):
    """The first true answer of `look`; asked again for as long as it's None, False or empty."""
    deadline = time.monotonic() + seconds
    while not (answer := look()):
        if time.monotonic() > deadline:
            raise Failure(f"{what}: not within {seconds} s.")
        time.sleep(0.25)
    return answer


def expect(is_so, reason):
    if not is_so:
        raise Failure(reason)


def tail(path, n_lines=20):
    """The end of a log, under a failure."""
    lines = path.read_text(errors="replace").splitlines()[-n_lines:]
    return "\n".join([f"The end of {path.name}:", *(f"  | {line[:500]}" for line in lines)])

"""How a run speaks, waits and fails."""

import time

BEGAN = time.monotonic()


class Failure(Exception):
    """What is wrong, and the logs that tell why."""

    def __init__(self, reason, *logs):
        super().__init__(reason)
        self.logs = logs


def step(text):
    print(f"{time.monotonic() - BEGAN:6.1f} s  {text}", flush=True)


def eventually(what, seconds, look, *logs):
    """The first true answer of `look`; asked again for as long as it's None, False or empty."""
    deadline = time.monotonic() + seconds
    while not (answer := look()):
        if time.monotonic() > deadline:
            raise Failure(f"{what}: not within {seconds} s.", *logs)
        time.sleep(0.25)
    return answer


def expect(is_so, reason, *logs):
    if not is_so:
        raise Failure(reason, *logs)


def tail(path, n_lines=25):
    try:
        lines = path.read_text(errors="replace").splitlines()[-n_lines:]
    except OSError as error:
        lines = [str(error)]
    return "\n".join(f"  | {line}" for line in lines)

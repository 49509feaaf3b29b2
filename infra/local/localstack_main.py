"""Starts LocalStack on this machine itself, without its container, on the loopback only.

LocalStack 4's server takes the address of GATEWAY_LISTEN for IPv6 only: for IPv4 it listens on
every interface, and should the port be taken it says nothing and never answers. Here it listens
on 127.0.0.1, or ends at once with a reason.
"""

import os
import sys

from twisted.internet import endpoints


class LoopbackEndpoint(endpoints.TCP4ServerEndpoint):
    """A server's endpoint on 127.0.0.1, whatever the caller asks for."""

    def __init__(self, reactor, port):
        super().__init__(reactor, port, interface="127.0.0.1")

    def listen(self, protocol_factory):
        listening = super().listen(protocol_factory)
        listening.addErrback(end_process)
        return listening


def end_process(failure):
    """Ends the process from whichever thread: it is of no use without its port."""
    print(f"cannot listen: {failure.getErrorMessage()}", file=sys.stderr, flush=True)
    os._exit(1)


endpoints.TCP4ServerEndpoint = LoopbackEndpoint

if __name__ == "__main__":
    # Imported only now: LocalStack's modules look the endpoint up when they start to listen.
    from localstack.runtime.main import main

    main()

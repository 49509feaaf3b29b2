"""MiniStack: an emulator that deploys SAM templates, runs their functions natively and fires their timers.

With AUTH it signs in every call and judges it by the policies of the caller's role, so that a function may do what
the template allows it and nothing else.
"""

import os
import signal
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import boto3
from botocore.config import Config

from process import free_port, start, stop
from steps import Failure, eventually, tail

REGION = "us-east-1"
LAUNCHER = str(Path(__file__).with_name("ministack_main.py"))
KEYS = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}


class Emulator:
    def __init__(self, folder):
        self.home = folder / "ministack"
        self.log = folder / "ministack.log"
        self.port = free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"

    @contextmanager
    def running(self):
        self.home.mkdir()
        process = start([sys.executable, LAUNCHER], self.log, env=self.environment())
        try:
            eventually("MiniStack answers", 60, lambda: self.answers(process))
            yield self
        finally:
            # Its functions are of its process group, and end with it.
            stop(process, signal.SIGTERM)

    def environment(self):
        """Functions inherit it, so nothing of the user's is in it; the endpoint is for them."""
        return {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(self.home),
            "TMPDIR": str(self.home),
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(self.port),
            "AWS_ENDPOINT_URL": self.endpoint,
            "MINISTACK_REGION": REGION,
            "AUTH": "true",
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
        }

    def answers(self, process):
        if process.poll() is not None:
            raise Failure(f"MiniStack has ended.\n{tail(self.log)}")
        try:
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            return opener.open(f"{self.endpoint}/_ministack/health", timeout=5).status == 200
        except OSError:
            return False

    def client(self, service):
        return client(service, self.endpoint, REGION)


def client(service, endpoint, region):
    config = Config(proxies={}, retries={"total_max_attempts": 3})
    return boto3.client(service, endpoint_url=endpoint, region_name=region, config=config, **KEYS)

"""A Postgres server of this run's own that speaks TLS only, as a managed one does."""

import json
import os
import secrets
import signal
import ssl
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pg8000.dbapi

from certificate import certify
from process import as_server, free_port, start, stop
from steps import Failure, eventually, tail

HOST = "localhost"
NAME = "postgres"


class Postgres:
    def __init__(self, folder):
        self.folder = folder / "postgres"
        self.log = folder / "postgres.log"
        self.ca_file = self.folder / "ca.pem"
        self.port = free_port()
        self.password = secrets.token_hex(16)

    @contextmanager
    def running(self):
        self.prepare()
        settings = [
            "listen_addresses=127.0.0.1",
            "fsync=off",
            "ssl=on",
            f"ssl_cert_file={self.folder}/server.pem",
            f"ssl_key_file={self.folder}/server.key",
        ]
        args = [program("postgres"), "-D", self.data, "-p", str(self.port), "-k", ""]
        args += [word for setting in settings for word in ("-c", setting)]
        # SIGQUIT ends it at once and takes its shared memory along.
        server = start(args, self.log, signal.SIGQUIT, cwd="/", **as_server())
        try:
            eventually("Postgres answers", 30, lambda: self.answers(server))
            yield self
        finally:
            stop(server, signal.SIGQUIT)

    @property
    def data(self):
        return str(self.folder / "data")

    def prepare(self):
        self.folder.mkdir()
        certify(HOST, self.folder)
        password_file = self.folder / "password"
        password_file.touch(mode=0o600)
        password_file.write_text(self.password)
        for path in [self.folder, *self.folder.iterdir()]:
            os.chown(path, as_server().get("user", -1), as_server().get("group", -1))
        args = [program("initdb"), "-D", self.data, "-U", "postgres", "-A", "scram-sha-256"]
        args += ["-E", "UTF8", "--no-locale", "--no-sync", f"--pwfile={password_file}"]
        with open(self.log, "ab") as output:
            made = subprocess.run(args, stdout=output, stderr=output, cwd="/", **as_server())
        if made.returncode != 0:
            raise Failure(f"initdb failed.\n{tail(self.log)}")
        # Whoever comes without TLS is turned away.
        Path(self.data, "pg_hba.conf").write_text("hostssl all all all scram-sha-256\n")

    def answers(self, server):
        if server.poll() is not None:
            raise Failure(f"Postgres has ended.\n{tail(self.log)}")
        try:
            self.connect().close()
            return True
        except pg8000.dbapi.InterfaceError:
            return False

    def connect(self, user="postgres", password=None):
        return pg8000.dbapi.connect(
            user=user,
            password=password or self.password,
            host=HOST,
            port=self.port,
            database=NAME,
            ssl_context=ssl.create_default_context(cafile=self.ca_file),
        )

    def query(self, sql, *values):
        connection = self.connect()
        try:
            cursor = connection.cursor()
            cursor.execute(sql, values)
            return cursor.fetchall()
        finally:
            connection.close()

    def migrate(self, outbox):
        """As its user does, with the program."""
        env = {
            "OUTBOX_DATABASE_URL": f"postgres://postgres:{self.password}@{HOST}:{self.port}/{NAME}",
            "OUTBOX_DATABASE_SSLMODE": "verify-full",
            "OUTBOX_DATABASE_CA_FILE": str(self.ca_file),
        }
        done = subprocess.run([outbox, "migrate"], env=env, capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"outbox migrate failed: {done.stdout}{done.stderr}")

    def login(self, role):
        """A login in that role and no other, as a secret."""
        user, password = f"{role}_login", secrets.token_hex(16)
        connection = self.connect()
        connection.autocommit = True
        # Both are words of our own: a utility statement takes no parameters.
        connection.cursor().execute(f"CREATE ROLE {user} LOGIN PASSWORD '{password}' IN ROLE {role}")
        connection.close()
        return {"username": user, "password": password}


def program(name):
    return str(Path(os.environ["POSTGRES_BIN"], name))


def secret_string(login):
    return json.dumps(login)

"""The daemon under test: a directory of its own, one configuration, many lives."""

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

BINARIES = pathlib.Path(
    os.environ.get("PENSTOCK_BINARIES") or pathlib.Path(__file__).parents[2] / ".build/debug").resolve()
# How long anything may take that has to happen: machines may be slow, and a bound is a bound.
PATIENCE = 60.0

COMMON = """
sources: {{ apps: {{ socket: events.sock }} }}
control: {{ socket: control.sock }}
plugins: {{ directories: [{binaries}] }}
journal: {{ directory: {journal}, {options} }}
"""


class Failure(Exception):
    """What must not happen, in a sentence."""


def eventually(what, condition, patience=PATIENCE):
    """Asks until there is an answer that counts as true, and returns that."""
    deadline = time.monotonic() + patience
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise Failure(f"waited {patience:.0f} s in vain: {what}")
        time.sleep(0.005)


class Daemon:
    def __init__(self, directory, destinations, options="", journal="journal"):
        """`destinations` is YAML: what stands below `routes:` and `destinations:`, LIFE for the number of the
        daemon's life. `options` are the journal's."""
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.journal = self.directory / journal
        self.events = str(self.directory / "events.sock")
        self.log_file = self.directory / "log"
        self.process = None
        self.life = 0
        # What a service manager would hear: READY=1 and the status.
        self.notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notices.bind(str(self.directory / "notify.sock"))
        self.configure(destinations, options)

    def configure(self, destinations, options=""):
        self.configuration = COMMON.format(binaries=BINARIES, journal=self.journal, options=options) + destinations

    # Life

    def spawn(self, *before):
        """Starts it and returns at once. `before`: words in front of the command, as of strace's."""
        self.notices.setblocking(False)
        try:
            while self.notices.recv(4096):
                pass
        except BlockingIOError:
            pass
        self.life += 1
        (self.directory / "penstock.yaml").write_text(self.configuration.replace("LIFE", str(self.life)))
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(
                [*before, BINARIES / "penstockd", "--config", self.directory / "penstock.yaml"],
                stdin=subprocess.DEVNULL, stderr=log, cwd=self.directory,
                env={**os.environ, "NOTIFY_SOCKET": str(self.directory / "notify.sock")})

    def await_ready(self, patience=PATIENCE):
        """Waits for READY=1. Returns whether it came; if not, the daemon has ended by itself."""
        deadline = time.monotonic() + patience
        self.notices.settimeout(0.02)
        while time.monotonic() < deadline:
            try:
                if b"READY=1" in self.notices.recv(4096):
                    return True
            except TimeoutError:
                if self.process.poll() is not None:
                    return False
        raise Failure(f"the daemon was not ready within {patience:.0f} s")

    def start(self):
        """Starts it and waits until it serves. Returns how many seconds that took."""
        begin = time.monotonic()
        self.spawn()
        if not self.await_ready():
            raise Failure(f"the daemon did not start: exit status {self.process.returncode}: {self.log_tail()}")
        return time.monotonic() - begin

    def kill(self):
        """kill -9. It must have lived until now."""
        self.check_alive()
        self.end()

    def terminate(self):
        """SIGTERM, and an orderly end."""
        self.check_alive()
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failure(f"the daemon did not end within {PATIENCE:.0f} s of SIGTERM") from None
        if status:
            raise Failure(f"the daemon ended with status {status} after SIGTERM: {self.log_tail()}")

    def end(self, allowed=signal.SIGKILL):
        """kill -9, whatever state it is in; it may have given up, but not crashed, but for one signal.

        Returns whether it had ended by that.
        """
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            return False
        if self.process.returncode < 0 and self.process.returncode != -allowed:
            raise Failure(f"the daemon crashed with signal {-self.process.returncode}: {self.log_tail()}")
        return self.process.returncode < 0

    def check_alive(self):
        if self.process.poll() is not None:
            raise Failure(f"the daemon ended by itself, status {self.process.returncode}: {self.log_tail()}")

    def threads(self):
        """Names of its threads, with their ids."""
        names = {}
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            names[(task / "comm").read_text().strip()] = int(task.name)
        return names

    # What it says

    def penstock(self, *words):
        command = [BINARIES / "penstock", *words, "--control", self.directory / "control.sock"]
        return subprocess.run(command, capture_output=True, text=True)

    def status(self):
        """What `penstock status --json` prints."""
        answer = self.penstock("status", "--json")
        if answer.returncode not in (0, 1):
            raise Failure(f"penstock status: exit status {answer.returncode}: {answer.stderr.strip()}")
        return json.loads(answer.stdout)

    def glance(self):
        """The same report, without a process of its own; for waiting."""
        connection = http.client.HTTPConnection("penstock", timeout=PATIENCE)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(PATIENCE)
        connection.sock.connect(str(self.directory / "control.sock"))
        try:
            connection.request("GET", "/status")
            return json.load(connection.getresponse())
        finally:
            connection.close()

    def dead_letters(self, destination):
        answer = self.penstock("dead-letters", "list", destination, "--json")
        if answer.returncode:
            raise Failure(f"penstock dead-letters: {answer.stderr.strip()}")
        return [json.loads(line) for line in answer.stdout.splitlines()]

    def settle(self, names=None, patience=PATIENCE):
        """Waits until the destinations have worked off the journal; as long as there is progress."""
        best, since = None, time.monotonic()
        while True:
            self.check_alive()
            destinations = self.glance()["destinations"]
            lag = sum(state["lag_events"] for name, state in destinations.items() if names is None or name in names)
            if lag == 0:
                return
            if best is None or lag < best:
                best, since = lag, time.monotonic()
            if time.monotonic() - since > patience:
                raise Failure(f"{lag} events are not delivered, and none was for {patience:.0f} s: {destinations}")
            time.sleep(0.01)

    @property
    def log(self):
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def log_tail(self):
        return " | ".join(self.log.splitlines()[-5:])

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.notices.close()

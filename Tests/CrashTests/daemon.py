"""The daemon under test, with its own directory, one configuration and many runs."""

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
# The timeout for everything that must happen. Generous, because machines may be slow.
PATIENCE = 60.0

COMMON = """
sources: {{ apps: {{ socket: events.sock }} }}
control: {{ socket: control.sock }}
plugins: {{ directories: [{binaries}] }}
journal: {{ directory: {journal}, {options} }}
"""


class Failure(Exception):
    """A failure of the test, described in a sentence."""


def eventually(what, condition, patience=PATIENCE):
    """Calls `condition` until its result is true, and returns the result."""
    deadline = time.monotonic() + patience
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise Failure(f"waited {patience:.0f} s without success: {what}")
        time.sleep(0.005)


class Daemon:
    def __init__(self, directory, destinations, options="", journal="journal"):
        """`destinations` is YAML with the keys `routes` and `destinations`, in which LIFE stands for the number of
        the daemon's run. `options` are journal options."""
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.journal = self.directory / journal
        self.events = str(self.directory / "events.sock")
        self.log_file = self.directory / "log"
        self.process = None
        self.life = 0
        # Receives what the daemon reports to a service manager: READY=1 and the status.
        self.notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notices.bind(str(self.directory / "notify.sock"))
        self.configure(destinations, options)

    def configure(self, destinations, options=""):
        self.configuration = COMMON.format(binaries=BINARIES, journal=self.journal, options=options) + destinations

    # Lifecycle

    def spawn(self, *before):
        """Starts the daemon and returns at once. `before`: words before the command, such as strace's."""
        self.drop_notices()
        self.life += 1
        (self.directory / "penstock.yaml").write_text(self.configuration.replace("LIFE", str(self.life)))
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(
                [*before, BINARIES / "penstockd", "--config", self.directory / "penstock.yaml"],
                stdin=subprocess.DEVNULL, stderr=log, cwd=self.directory,
                env={**os.environ, "NOTIFY_SOCKET": str(self.directory / "notify.sock")})

    def drop_notices(self):
        """As a service manager reads them. The daemon waits while the socket is full."""
        self.notices.setblocking(False)
        try:
            while self.notices.recv(4096):
                pass
        except BlockingIOError:
            pass

    def await_ready(self, patience=PATIENCE):
        """Waits for READY=1. Returns whether it came. If not, the daemon has ended on its own."""
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
        """Starts the daemon and waits until it serves. Returns the time in seconds."""
        begin = time.monotonic()
        self.spawn()
        if not self.await_ready():
            raise Failure(f"the daemon did not start: exit status {self.process.returncode}: {self.log_tail()}")
        return time.monotonic() - begin

    def kill(self):
        """Kills the daemon with SIGKILL. It must still run."""
        self.check_alive()
        self.end()

    def terminate(self):
        """Sends SIGTERM and waits for an orderly end."""
        self.check_alive()
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failure(f"the daemon did not end within {PATIENCE:.0f} s of SIGTERM") from None
        if status:
            raise Failure(f"the daemon ended with status {status} after SIGTERM: {self.log_tail()}")

    def end(self, allowed=signal.SIGKILL):
        """Kills the daemon with SIGKILL in any state. It may have exited, but not crashed, except with `allowed`.

        Returns whether it had ended with that signal.
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
            raise Failure(f"the daemon ended on its own, status {self.process.returncode}: {self.log_tail()}")

    def threads(self):
        """The names of the daemon's threads, with their ids."""
        names = {}
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            names[(task / "comm").read_text().strip()] = int(task.name)
        return names

    # Reports

    def penstock(self, *words):
        command = [BINARIES / "penstock", *words, "--control", self.directory / "control.sock"]
        return subprocess.run(command, capture_output=True, text=True)

    def status(self):
        """The output of `penstock status --json`."""
        answer = self.penstock("status", "--json")
        if answer.returncode not in (0, 1):
            raise Failure(f"penstock status: exit status {answer.returncode}: {answer.stderr.strip()}")
        return json.loads(answer.stdout)

    def request(self, method, path):
        """One request to the control socket. Returns the status and the JSON of the answer."""
        connection = http.client.HTTPConnection("penstock", timeout=PATIENCE)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(PATIENCE)
        connection.sock.connect(str(self.directory / "control.sock"))
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, json.load(answer)
        finally:
            connection.close()

    def glance(self):
        """As `status`, but without a process, for use in loops."""
        return self.request("GET", "/status")[1]

    def dead_letters(self, destination):
        answer = self.penstock("dead-letters", "list", destination, "--json")
        if answer.returncode:
            raise Failure(f"penstock dead-letters: {answer.stderr.strip()}")
        return [json.loads(line) for line in answer.stdout.splitlines()]

    def settle(self, names=None, patience=PATIENCE):
        """Waits until the destinations have caught up. Fails when there is no progress for `patience` seconds."""
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

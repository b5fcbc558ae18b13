"""Failing system calls while the daemon starts with a journal from a crash."""

import os
import pathlib
import signal

import faults
import sinks
from client import Connection
from daemon import PATIENCE, Daemon, Failure
from tracer import Trace, check_strace, words

SHORT = 16
DEPTH = 12
# The timeout of a start that neither ends nor serves, in seconds.
BOUND = 20
PADDING, BATCH, BATCHES = 4000, 16, 48

DESTINATIONS = """
routes: [ {{ to: [file, http] }} ]
destinations:
  file: {{ file: {directory}/file.ndjson, retry: {{ initial: 5ms, max: 50ms }} }}
  http:
    http: "{url}"
    format: ndjson
    batch: {{ wait: 5ms }}
    retry: {{ initial: 5ms, max: 50ms }}
    headers: {{ Life: "LIFE" }}
"""
JOURNAL = "segment_size: 1MiB, retain: { size: 64MiB }, cursor_interval: 20ms"


class Startups:
    """One daemon that is started repeatedly. Each start finds the state that the last one left."""

    def __init__(self, trial):
        self.trial = trial
        self.directory = trial.directory
        self.daemon = Daemon(self.directory, DESTINATIONS.format(directory=self.directory, url=trial.receiver.url), JOURNAL)
        self.trace = Trace(self.directory / "trace")
        self.clients = 0
        trial.at_end += [self.daemon.close, self.kill_tracee]

    def leave_work(self, batches):
        """A run that ends with kill -9. It leaves a backlog for one destination, and events without an answer."""
        self.trial.receiver.refusal = 503
        self.daemon.start()
        connection = Connection(self.daemon.events, self.trial.ledger, self.clients, PADDING)
        self.clients += 1
        for _ in range(batches):
            connection.send(BATCH)
            connection.drain(PATIENCE)
        connection.send(BATCH)
        self.daemon.kill()
        while connection.outstanding and self.read(connection):
            pass
        connection.close()

    @staticmethod
    def read(connection):
        try:
            return connection.read(1)
        except OSError:
            return False

    def start(self, options):
        """One start under strace. Returns whether the daemon serves. If not, it has ended with a message."""
        journal = self.daemon.journal
        names = {"spare", "spare.new", "cursors", "cursors.new", "manifest", "manifest.new", "lock"}
        names |= {path.name for path in journal.iterdir()}
        paths = [word for name in sorted(names) for word in ("-P", str(journal / name))]
        self.trace.path.unlink(missing_ok=True)
        said = len(self.daemon.log)
        self.daemon.spawn("strace", "-f", "-y", "--seccomp-bpf", "-o", self.trace.path, "-P", str(journal), *paths, *options)
        if self.daemon.await_ready(BOUND):
            # Waits until every event that can be delivered is delivered, or there is no more progress.
            self.trial.receiver.refusal = None
            try:
                self.daemon.settle(patience=1)
            except Failure:
                pass
            self.kill_tracee()
            self.daemon.process.wait()
            return True
        if self.daemon.process.returncode < 0:
            raise Failure(f"the daemon crashed with signal {-self.daemon.process.returncode}: {self.daemon.log_tail()}")
        if self.daemon.process.returncode == 0 or "error" not in self.daemon.log[said:]:
            raise Failure(f"the daemon ended with status {self.daemon.process.returncode} without a reason")
        return False

    def kill_tracee(self):
        """Kills the daemon, and strace ends, too. If strace were killed, the daemon would survive."""
        if self.daemon.process and self.daemon.process.poll() is None:
            strace = self.daemon.process.pid
            for child in pathlib.Path(f"/proc/{strace}/task/{strace}/children").read_text().split():
                os.kill(int(child), signal.SIGKILL)

    def check(self):
        """Checks that without faults, every acknowledged event arrives."""
        self.trial.receiver.refusal = None
        self.daemon.start()
        self.daemon.settle()
        damaged = self.daemon.status()["journal"]["damaged"]
        self.daemon.terminate()
        tallies = {"file": sinks.in_files(self.directory, "file.ndjson"), "http": self.trial.receiver.tally}
        found, duplicates = sinks.judge(self.trial.ledger, tallies)
        if damaged:
            found.append(f"{damaged} positions count as damaged, although no byte was")
        if found:
            raise Failure("; ".join(found))
        return duplicates


def failing_starts(trial):
    check_strace()
    startups = Startups(trial)
    startups.leave_work(BATCHES)
    startups.start(words())
    cases = [
        (call, error, nth, for_ever)
        for call, count in sorted(startups.trace.counts().items())
        for error in faults.ERRORS
        for for_ever in (False, True)
        for nth in range(1, min(count, DEPTH) + 1)
        # No machine interrupts every call for ever.
        if not (for_ever and error == "EINTR")
    ]
    if not trial.is_long:
        cases = trial.random.sample(cases, min(SHORT, len(cases)))
    refused, hit = 0, 0
    for call, error, nth, for_ever in cases:
        try:
            startups.leave_work(1)
            refused += not startups.start(words(call, error, f"{nth}{'+' if for_ever else ''}"))
            hit += startups.trace.injected > 0
            duplicates = startups.check()
        except Failure as failure:
            raise Failure(f"{call} {error} {'from' if for_ever else 'at'} call {nth}: {failure}") from None
    return (
        f"{len(cases)} cases, {hit} of them hit, {refused} refused to start, {trial.acknowledged:,} events acknowledged,"
        f" 0 lost, duplicates {', '.join(f'{name} {count}' for name, count in duplicates.items())}")

"""Failing system calls, once or permanently, in the threads that write the journal or a file."""

import sinks
from client import Connection
from daemon import Daemon, Failure, eventually
from ledger import ACKNOWLEDGED, Ledger
from tracer import Tracer, check_strace, words

ERRORS = {"EIO": "Input/output error", "ENOSPC": "No space left on device", "EINTR": None}
# The number of random cases in a short run.
SHORT = 16
# The first calls of each kind that are made to fail.
DEPTH = 8
# Events of 8 KiB, sixteen at a time: a segment of 1 MiB holds eight batches.
PADDING, BATCH, BATCHES = 8000, 16, 20
# Enough batches that the oldest segment is removed.
UNLINK_BATCHES = 160

DESTINATIONS = """
routes: [ {{ to: [{names}] }} ]
destinations:
  file: {{ file: {directory}/file.ndjson, rotate: {{ size: 1MiB }}, retry: {{ initial: 5ms, max: 50ms }} }}
"""
AGAIN = """
  again: {{ file: {directory}/again.ndjson, start: earliest }}
"""
JOURNAL = "segment_size: 1MiB, retain: {{ size: {retain} }}, cursor_interval: 20ms"
THREADS = ["journal-writer", "journal-keeper", "to-file", "sync-file"]


class Case:
    """One failing call of one thread."""

    def __init__(self, thread, call, error=None, nth=1, for_ever=False):
        self.thread, self.call, self.error, self.nth, self.for_ever = thread, call, error, nth, for_ever
        self.batches = UNLINK_BATCHES if call == "unlink" and thread == "journal-keeper" else BATCHES
        # On a full filesystem, the journal removes segments that it keeps for replay only.
        self.frees_space = error == "ENOSPC" and thread.startswith("journal-")
        self.keeps_all = self.batches == BATCHES and not self.frees_space
        self.connection = None

    def __str__(self):
        return f"{self.thread} {self.call} {self.error} {'from' if self.for_ever else 'at'} call {self.nth}"

    def words(self):
        return words(self.call, self.error, f"{self.nth}{'+' if self.for_ever else ''}")

    def run(self, directory, patience=30):
        """Returns the trace and the number of acknowledged events."""
        self.directory = directory
        self.ledger = Ledger()
        options = JOURNAL.format(retain="64MiB" if self.keeps_all else "16MiB")
        daemon = Daemon(directory, DESTINATIONS.format(names="file", directory=directory), options)
        try:
            daemon.start()
            self.connection = Connection(daemon.events, self.ledger, 0, PADDING)
            self.send(1, patience)
            daemon.settle()
            said = len(daemon.log)
            with Tracer(daemon.threads()[self.thread], directory / "trace", self.words()) as trace:
                self.load(trace, 1 if self.for_ever else patience)
                daemon.check_alive()
                if self.error and trace.injected:
                    self.check_reported(daemon, said, trace)
            if self.error:
                self.check_recovers(daemon, patience)
            daemon.settle()
            daemon.kill()
            daemon.configure(
                (DESTINATIONS + AGAIN).format(names="file, again", directory=directory), options)
            daemon.start()
            daemon.settle()
            daemon.terminate()
            self.judge()
            return trace, self.ledger.count(ACKNOWLEDGED)
        finally:
            if self.connection:
                self.connection.close()
            daemon.close()

    def send(self, count, patience):
        self.connection.send(count)
        return self.connection.drain(patience)

    def load(self, trace, patience):
        """Sends until all is sent or an answer is missing. Fails if unwritten events are acknowledged."""
        for _ in range(self.batches):
            fails = self.for_ever and trace.injected > 0
            before = self.ledger.count(ACKNOWLEDGED)
            answered = self.send(BATCH, patience)
            promised = self.ledger.count(ACKNOWLEDGED) - before
            if fails and promised and self.thread == "journal-writer":
                raise Failure(f"{promised} events were acknowledged although every {self.call} of the writer failed")
            if not answered:
                if not self.for_ever:
                    raise Failure(f"{self.connection.outstanding} events were not answered after one failure")
                return

    def check_reported(self, daemon, said, trace):
        """Checks that the failure is reported to the operator."""
        text = ERRORS[self.error]
        if text is None:
            return
        is_of_cursors = trace.hit("/cursors") or self.call == "fsync"
        if self.frees_space and not self.for_ever and is_of_cursors:
            # The positions went into the old file at once, so the operator need not act. An fsync is a directory's, which
            # may be that of the cursors as well.
            return
        # A segment was removed for the next one; or there was none to remove: "the filesystem of DIRECTORY is full".
        full = ["the filesystem is full", " is full: the next segment needs"]
        texts = [text] + full if self.frees_space else [text]
        eventually(f"the log says: {text}", lambda: any(text in daemon.log[said:] for text in texts), 5)
        if not self.for_ever:
            return
        if self.thread == "journal-writer":
            report = daemon.status()
            journal = report["journal"]
            state = "full" if self.error in ("ENOSPC", "EDQUOT") else "failed"
            if journal["state"] != state or text not in journal["last_error"] or report["health"] != "degraded":
                raise Failure(f"the journal cannot be written, and its status is {journal}")
        elif self.thread in ("to-file", "sync-file"):
            # The destination is reopened again and again, and may look healthy for a moment.
            eventually(
                "the destination's status shows the error",
                lambda: (file := daemon.glance()["destinations"]["file"])["state"] != "up" and text in file["last_error"])

    def check_recovers(self, daemon, patience):
        """Checks that without faults everything is answered and new events are accepted."""
        if not self.connection.drain(patience):
            raise Failure(f"{self.connection.outstanding} events are not answered although the faults have stopped")

        def taken():
            before = self.ledger.count(ACKNOWLEDGED)
            return self.send(BATCH, patience) and self.ledger.count(ACKNOWLEDGED) == before + BATCH

        eventually("events are accepted again", taken, patience)
        eventually("the daemon is healthy again", lambda: daemon.glance()["health"] == "healthy", patience)

    def judge(self):
        tallies = {"file": sinks.in_files(self.directory, "file.ndjson")}
        if self.keeps_all:
            tallies["again"] = sinks.in_files(self.directory, "again.ndjson")
        faults, _ = sinks.judge(self.ledger, tallies)
        if faults:
            raise Failure("; ".join(faults))


def failing_calls(trial):
    check_strace()
    number = 0

    def run(case):
        nonlocal number
        number += 1
        directory = trial.directory / str(number)
        directory.mkdir()
        try:
            return case.run(directory)
        except Failure as failure:
            raise Failure(f"{case}: {failure}") from None

    cases = []
    for thread in THREADS:
        # The calls of a run without faults, and their number.
        trace, _ = run(Case(thread, None))
        counts = trace.counts()
        if thread == "journal-keeper":
            counts["unlink"] = 1
        cases += [
            Case(thread, call, error, nth, for_ever)
            for call, count in sorted(counts.items())
            for error in ERRORS
            for for_ever in (False, True)
            for nth in range(1, min(count, DEPTH) + 1)
        ]
    if not trial.is_long:
        cases = trial.random.sample(cases, min(SHORT, len(cases)))
    failures, injected, acknowledged = [], 0, 0
    for case in cases:
        try:
            trace, events = run(case)
            injected += trace.injected > 0
            acknowledged += events
        except Failure as failure:
            failures.append(str(failure))
    if failures:
        raise Failure(f"{len(failures)} of {len(cases)} cases:\n    " + "\n    ".join(failures))
    return f"{len(cases)} cases, {injected} of them hit, {acknowledged:,} events acknowledged, 0 lost, 0 doubled"

"""Full and read-only filesystems, a journal at its size limit, and no free descriptors."""

import os
import re
import resource
import time

import sinks
from client import Connection
from daemon import PATIENCE, Daemon, Failure, eventually
from ledger import ACKNOWLEDGED, REFUSED
from trial import Skipped
from volume import Volume

# Sixteen events of 8 KiB: a segment of 1 MiB holds eight batches.
PADDING, BATCH = 8000, 16
# The time in seconds after which a client counts as blocked.
HELD_UP = 2

FILE = """
routes: [ {{ to: [file] }} ]
destinations:
  file: {{ file: {directory}/file.ndjson, retry: {{ initial: 5ms, max: 50ms }} }}
"""
FILE_AND_HTTP = """
routes: [ {{ to: [file, http] }} ]
destinations:
  file: {{ file: {directory}/file.ndjson }}
  http:
    http: "{url}"
    format: ndjson
    batch: {{ wait: 5ms }}
    retry: {{ initial: 5ms, max: 50ms }}
    headers: {{ Life: "LIFE" }}
"""


class Scene:
    """A daemon and one client that sends one batch at a time."""

    def __init__(self, trial, destinations, options, journal="journal"):
        self.trial = trial
        self.daemon = Daemon(trial.directory, destinations, options, journal)
        trial.at_end.append(self.daemon.close)
        self.daemon.start()
        self.connect()

    def connect(self):
        self.connection = Connection(self.daemon.events, self.trial.ledger, len(self.trial.ledger.pages), PADDING)
        self.trial.at_end.append(self.connection.close)

    def send(self, patience=PATIENCE):
        """Sends one batch. Returns the number of acknowledged events, or None if no answer comes."""
        before = self.trial.acknowledged
        self.connection.send(BATCH)
        if not self.connection.drain(patience):
            return None
        return self.trial.acknowledged - before

    def send_until(self, what, is_enough, bound):
        """Sends at most `bound` batches, until `is_enough` accepts an answer."""
        for _ in range(bound):
            answer = self.send(HELD_UP)
            if is_enough(answer):
                return
        raise Failure(f"{bound} batches were sent without effect: {what}")

    def taken_again(self):
        """Checks that everything is answered and new events are accepted."""
        if not self.connection.drain(PATIENCE):
            raise Failure(f"{self.connection.outstanding} events are not answered although there is room")
        eventually("events are accepted again", lambda: self.send() == BATCH)
        eventually("the journal is healthy again", lambda: self.daemon.glance()["journal"]["state"] == "ok")

    def delivered(self):
        """Waits until the file has all acknowledged events. It cannot have those that the journal still queues."""
        eventually("everything acknowledged is delivered", lambda: not sinks.Verdict(self.trial.ledger, self.file()).lost)

    def file(self):
        return sinks.in_files(self.trial.directory, "file.ndjson")

    def journal(self):
        return self.daemon.status()["journal"]

    def expect_journal(self, states, text):
        journal = eventually(
            f"the journal's state is {' or '.join(states)}",
            lambda: (report := self.daemon.glance()["journal"])["state"] in states and report)
        if text not in (journal.get("last_error") or ""):
            raise Failure(f"the status does not mention “{text}”: {journal}")
        if self.daemon.status()["health"] != "degraded":
            raise Failure("the status is healthy although the journal accepts no events")

    def judge(self, **tallies):
        faults, duplicates = sinks.judge(self.trial.ledger, tallies)
        if faults:
            raise Failure("; ".join(faults))
        return duplicates

    def figures(self):
        ledger = self.trial.ledger
        return (
            f"{ledger.count(ACKNOWLEDGED):,} events acknowledged, {ledger.count(REFUSED):,} refused"
            f" ({', '.join(ledger.reasons) or 'none'}), 0 lost")


def full_tmpfs(policy):
    """A filesystem of 16 MiB, filled by the journal and another program, freed, and filled again."""
    return lambda trial: fill_tmpfs(trial, policy)


def fill_tmpfs(trial, policy):
    volume = Volume(trial, "tmpfs", "16M")
    # A delivered segment is kept until its cursor is on disk, and would then make room on its own. With this interval
    # it keeps its share of the 16 MiB, so the number of rounds is limited.
    options = "segment_size: 1MiB, retain: { size: 1GiB }, cursor_interval: 1h, when_full: " + policy
    scene = Scene(trial, FILE.format(directory=trial.directory), options, "volume/journal")
    resumed = []
    rounds = 4 if trial.is_long else 2
    ballast = volume.path / "ballast"
    for number in range(rounds):
        if number:
            with open(ballast, "wb") as file:
                file.write(bytes(1 << 20))
        # Filled to the last byte.
        try:
            with open(ballast, "ab", buffering=0) as file:
                while file.write(bytes(4096)):
                    pass
        except OSError:
            pass
        if policy == "block":
            scene.send_until("the client is blocked", lambda answer: answer is None, 40)
        else:
            scene.send_until("events are refused", lambda answer: answer != BATCH, 40)
        scene.expect_journal(["full"], "the journal's filesystem is full")
        if "bytes (journal.segment_size and a reserve)" not in scene.daemon.log:
            raise Failure(f"the log does not name the required space: {scene.daemon.log_tail()}")
        scene.delivered()
        if number % 2:
            # kill -9 and a restart while the filesystem is full.
            scene.daemon.kill()
            scene.connection.close()
            ballast_size = ballast.stat().st_size
            scene.daemon.start()
            scene.connect()
            scene.send(HELD_UP)
            if ballast.stat().st_size != ballast_size:
                raise Failure("the other program's file was changed")
        ballast.unlink()
        begin = time.monotonic()
        if not scene.connection.drain(PATIENCE):
            raise Failure(f"{scene.connection.outstanding} events are not answered although there is room")
        resumed.append(time.monotonic() - begin)
        scene.taken_again()
    if policy == "block" and trial.ledger.count(REFUSED):
        raise Failure(f"{trial.ledger.count(REFUSED)} events were refused, but clients should have waited")
    if policy == "block" and max(resumed) > 5:
        raise Failure(f"it took {max(resumed):.1f} s until events were accepted again")
    scene.daemon.settle()
    scene.daemon.terminate()
    scene.judge(file=scene.file())
    return f"filled {rounds} times, {scene.figures()}, 0 doubled, accepted again after at most {max(resumed):.1f} s"


def full_delivered(trial):
    """A filesystem of 16 MiB, filled with delivered segments. They are removed once the cursors on disk allow it."""
    volume = Volume(trial, "tmpfs", "16M")
    options = "segment_size: 1MiB, retain: { size: 1GiB }, cursor_interval: 50ms"
    scene = Scene(trial, FILE.format(directory=trial.directory), options, "volume/journal")
    for _ in range(60 if trial.is_long else 20):
        for _ in range(8):
            if scene.send() != BATCH:
                # The filesystem is full as long as the cursors lag behind.
                scene.daemon.settle()
                eventually("delivered segments make room for new events", lambda: scene.send() == BATCH)
        scene.daemon.settle()
    journal = scene.journal()
    if not journal["removed_for_space"] or not journal["first"]:
        raise Failure(f"the status does not show that segments were removed early: {journal}")
    if "before journal.retain required it" not in scene.daemon.log:
        raise Failure(f"the log does not show that segments were removed early: {scene.daemon.log}")
    scene.daemon.terminate()
    scene.judge(file=scene.file())
    return f"{journal['removed_for_space']} segments removed early, {scene.figures()}, 0 doubled"


def full_destination(trial):
    """The file destination's filesystem is full, but the journal's is not."""
    volume = Volume(trial, "tmpfs", "4M")
    scene = Scene(trial, FILE.format(directory=volume.path), "segment_size: 1MiB, cursor_interval: 50ms")
    for _ in range(64):
        if scene.send() != BATCH:
            raise Failure("events were not accepted because a destination's filesystem is full")
    state = eventually(
        "the destination reports the error",
        lambda: (file := scene.daemon.status()["destinations"]["file"])["state"] != "up" and file)
    if "No space left" not in state["last_error"]:
        raise Failure(f"the status does not show the error: {state}")
    scene.daemon.kill()
    scene.daemon.start()
    volume.remount("size=64M")
    scene.connection.close()
    scene.connect()
    scene.taken_again()
    scene.daemon.settle()
    scene.daemon.terminate()
    scene.judge(file=sinks.in_files(volume.path, "file.ndjson"))
    return f"{scene.figures()}, 0 doubled"


def read_only(trial):
    """A filesystem error after which the kernel remounts the filesystem read-only while the daemon writes."""
    volume = Volume(trial, "ext4", "200M", "errors=remount-ro")
    scene = Scene(trial, FILE.format(directory=trial.directory), "segment_size: 1MiB", "volume/journal")
    if scene.send() != BATCH:
        raise Failure("events were not accepted")
    # The destination has opened its files, which it cannot do later.
    scene.delivered()
    trigger = f"/sys/fs/ext4/{volume.loop_device}/trigger_fs_error"
    if not os.path.exists(trigger):
        raise Skipped(f"needs {trigger}")
    with open(trigger, "w") as file:
        file.write("a test's error")
    scene.send_until("events are refused", lambda answer: answer != BATCH, 40)
    scene.expect_journal(["failed"], "Read-only file system")
    scene.delivered()
    # The daemon refuses to start on a read-only filesystem and reports the reason.
    scene.daemon.kill()
    said = len(scene.daemon.log)
    scene.daemon.spawn()
    if scene.daemon.await_ready():
        raise Failure("the daemon serves, although its journal cannot be written")
    if scene.daemon.process.returncode != 1 or "ead-only file system" not in scene.daemon.log[said:]:
        raise Failure(f"it ended with status {scene.daemon.process.returncode} and said: {scene.daemon.log[said:]}")
    volume.unmount()
    volume.mount()
    scene.connection.close()
    scene.daemon.start()
    scene.connect()
    scene.taken_again()
    scene.daemon.settle()
    scene.daemon.terminate()
    scene.judge(file=scene.file())
    return f"{scene.figures()}, 0 doubled"


def when_full(policy):
    """A journal of 16 MiB, and a destination that answers 503 until far more events were sent."""

    def test(trial):
        trial.receiver.refusal = 503
        destinations = FILE_AND_HTTP.format(directory=trial.directory, url=trial.receiver.url)
        options = f"segment_size: 1MiB, retain: {{ size: 16MiB }}, cursor_interval: 50ms, when_full: {policy}"
        scene = Scene(trial, destinations, options)
        if policy == "drop_oldest":
            for number in range(200):
                if scene.send() != BATCH:
                    raise Failure("events were blocked or refused, but the oldest should have been dropped")
                # The file's position is stored from time to time. Without a wait, it may lose events, too.
                if number % 4 == 3:
                    scene.daemon.settle(["file"])
        elif policy == "block":
            scene.send_until("the client is blocked", lambda answer: answer is None, 200)
            scene.expect_journal(["full"], "journal.retain")
            if trial.ledger.count(REFUSED):
                raise Failure("events were refused, but the client should have waited")
        else:
            scene.send_until("events are refused", lambda answer: answer == 0, 200)
            scene.expect_journal(["full"], "journal.retain")
            if set(trial.ledger.reasons) != {"journal_full"}:
                raise Failure(f"events were refused as {trial.ledger.reasons}")
        if (taken := scene.journal()["bytes"]) > 16 << 20:
            raise Failure(f"the journal takes {taken} bytes, but retain allows 16 MiB")
        scene.daemon.settle(["file"])
        if policy == "drop_oldest":
            eventually(
                "the status counts the dropped events of the log",
                lambda: scene.daemon.glance()["destinations"]["http"]["dropped"] == dropped("http", scene.daemon.log) > 0)
        # A full journal must not prevent a start.
        scene.daemon.kill()
        scene.connection.close()
        scene.daemon.start()
        trial.receiver.refusal = None
        scene.connect()
        scene.taken_again()
        scene.daemon.settle()
        scene.daemon.terminate()
        file = scene.file()
        if policy != "drop_oldest":
            duplicates = scene.judge(file=file, http=trial.receiver.tally)
            return f"{scene.figures()}, duplicates http {duplicates['http']}"
        scene.judge(file=file)
        missing = len(sinks.Verdict(trial.ledger, trial.receiver.tally).lost)
        counted = dropped("http", scene.daemon.log)
        # Events in flight may have arrived before their segment was removed.
        if not missing or missing > counted:
            raise Failure(f"http: {missing} events are missing, and {counted} were reported as dropped")
        return f"{scene.figures()} at the file; the blocked destination lost {missing}, and {counted} were reported"

    return test


def dropped(destination, log):
    """The number of events that a destination lost according to the log."""
    ranges = re.findall(rf"destination {destination} loses positions (\d+) to (\d+)", log)
    return sum(int(last) - int(first) for first, last in ranges)


def no_descriptors(trial):
    """No more files can be opened for a while."""
    scene = Scene(trial, FILE.format(directory=trial.directory), "segment_size: 1MiB, cursor_interval: 50ms")
    rounds = 10 if trial.is_long else 2
    for _ in range(rounds):
        pid = scene.daemon.process.pid
        # The daemon serves this client already.
        if scene.send() != BATCH:
            raise Failure("a new client is not served")
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        said = len(scene.daemon.log)
        # Open descriptors stay open, but a closed one cannot be reused.
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))
        scene.send_until("events are refused or blocked", lambda answer: answer != BATCH, 60)
        eventually("the log names the error", lambda: "Too many open files" in scene.daemon.log[said:], 5)
        scene.daemon.check_alive()
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        scene.taken_again()
        scene.connection.close()
        scene.connect()
    scene.daemon.settle()
    report = scene.journal()
    if report["damaged"] or list(scene.daemon.journal.glob("quarantine/*")):
        raise Failure(f"a lack of descriptors was reported as damage: {report}")
    scene.daemon.terminate()
    scene.judge(file=scene.file())
    return f"{rounds} rounds, {scene.figures()}, 0 doubled"

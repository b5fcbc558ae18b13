"""Power cuts: the filesystem suddenly loses everything that was not durable."""

import signal
import time

from daemon import Daemon
from trial import spread
from volume import Volume

SHORT, LONG = 10, 200
CLIENTS = 4
# SQLite maps the index of its write-ahead log into memory (NAME-shm). On a filesystem that was shut down, access to it
# raises this signal. The plugin runs in the daemon's process.
SQLITES_OWN = signal.SIGBUS
JOURNAL = "segment_size: 1MiB, retain: { size: 16MiB }, cursor_interval: 100ms"


def power_cuts(kind):
    def test(trial):
        cycles = LONG if trial.is_long else SHORT
        volume = Volume(trial, kind)
        output = volume.path / "output"
        daemon = Daemon(trial.directory, trial.destinations(output), JOURNAL, journal="volume/journal")
        trial.at_end.append(daemon.close)
        output.mkdir()
        restarts, recoveries, by_sqlite = [daemon.start()], 0, 0
        trial.load(daemon, CLIENTS)
        for _ in range(cycles):
            time.sleep(trial.random.uniform(0, 0.3))
            again = trial.random.random() < 0.2
            volume.cut_power(trial.ledger)
            if trial.random.random() < 0.3:
                # The daemon runs on for a while with a failing disk and must acknowledge nothing.
                time.sleep(trial.random.uniform(0, 0.05))
            while True:
                by_sqlite += daemon.end(SQLITES_OWN)
                volume.unmount()
                volume.mount()
                if not again:
                    break
                # Another cut during recovery. The daemon may have ended on its own.
                again = False
                recoveries += 1
                daemon.spawn()
                time.sleep(trial.random.uniform(0, min(restarts)))
                volume.cut_power(trial.ledger)
            restarts.append(daemon.start())
        trial.stop_load()
        report = daemon.status()
        duplicates = trial.judge(daemon, output)
        return (
            f"{cycles} cycles ({recoveries} cut again in recovery), {trial.acknowledged:,} events acknowledged, 0 lost,"
            f" {report['journal']['damaged']} positions interrupted, {by_sqlite} times ended by SQLite's mapped index,"
            f" {duplicates}, ready after {spread(restarts)}")

    return test

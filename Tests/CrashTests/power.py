"""Power cuts: the filesystem forgets, from one moment to the next, whatever it had not made durable."""

import time

from daemon import Daemon
from trial import spread
from volume import Volume

SHORT, LONG = 10, 200
CLIENTS = 4
JOURNAL = "segment_size: 1MiB, retain: { size: 16MiB }, cursor_interval: 100ms"


def power_cuts(kind):
    def test(trial):
        cycles = LONG if trial.is_long else SHORT
        volume = Volume(trial, kind)
        output = volume.path / "output"
        daemon = Daemon(trial.directory, trial.four_destinations(output), JOURNAL, journal="volume/journal")
        trial.at_end.append(daemon.close)
        output.mkdir()
        restarts, recoveries = [daemon.start()], 0
        trial.load(daemon, CLIENTS)
        for _ in range(cycles):
            time.sleep(trial.random.uniform(0, 0.3))
            again = trial.random.random() < 0.2
            volume.cut_power()
            if trial.random.random() < 0.3:
                # It lives on for a while on a disk that fails, and must promise nothing.
                time.sleep(trial.random.uniform(0, 0.05))
                daemon.check_alive()
            while True:
                daemon.end()
                volume.unmount()
                volume.mount()
                if not again:
                    break
                # Again, while it recovers; it may have ended by itself.
                again = False
                recoveries += 1
                daemon.spawn()
                time.sleep(trial.random.uniform(0, min(restarts)))
                volume.cut_power()
            restarts.append(daemon.start())
        trial.stop_load()
        daemon.settle()
        report = daemon.status()
        daemon.terminate()
        duplicates = trial.judge_four(output)
        return (
            f"{cycles} cycles ({recoveries} cut again in recovery), {trial.acknowledged:,} events acknowledged, 0 lost,"
            f" {report['journal']['damaged']} positions interrupted, {duplicates}, ready after {spread(restarts)}")

    return test

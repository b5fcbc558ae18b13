"""kill -9 at any moment: under load, while it recovers, while it stops; clients never pause."""

import time

from daemon import Daemon, Failure
from trial import spread

SHORT, LONG = 40, 1000
CLIENTS = 4
# What is written survives the process, synced or not.
SYNC = ["always", "always", "20ms", "never"]
# Small, so that segments end, are removed and files are rotated between two kills.
JOURNAL = "segment_size: 1MiB, retain: { size: 16MiB }, cursor_interval: 100ms"


def kill9(trial):
    cycles = LONG if trial.is_long else SHORT
    daemon = Daemon(trial.directory, trial.destinations(trial.directory), JOURNAL)
    trial.at_end.append(daemon.close)
    restarts, recoveries, stops = [daemon.start()], 0, 0
    trial.load(daemon, CLIENTS)
    for _ in range(cycles):
        sync = trial.random.choice(SYNC)
        daemon.configure(trial.destinations(trial.directory), f"{JOURNAL}, sync: {sync}")
        chance = trial.random.random()
        time.sleep(trial.random.uniform(0, 0.25))
        if chance < 0.03:
            # With clients that never end, that takes the whole drain.
            stops += 1
            daemon.terminate()
        else:
            daemon.kill()
        if chance > 0.75:
            # Again, while it recovers.
            recoveries += 1
            daemon.spawn()
            time.sleep(trial.random.uniform(0, 1.2 * min(restarts)))
            daemon.kill()
        restarts.append(daemon.start())
    trial.stop_load()
    report = daemon.status()
    if report["journal"]["damaged"]:
        raise Failure(f"kill -9 leaves all that was written, and {report['journal']['damaged']} positions count as damaged")
    duplicates = trial.judge(daemon, trial.directory)
    return (
        f"{cycles} cycles ({recoveries} killed again in recovery, {stops} orderly), {trial.acknowledged:,} events"
        f" acknowledged, 0 lost, {duplicates}, ready after {spread(restarts)}")

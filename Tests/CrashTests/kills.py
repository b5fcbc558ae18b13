"""kill -9 at any moment: under load, in recovery and while stopping. Clients never pause."""

import pathlib
import statistics
import subprocess
import time

import sinks
from daemon import Daemon, Failure, eventually
from trial import Skipped, spread

SHORT, LONG = 40, 1000
CLIENTS = 4
# Written data survives the process, synced or not.
SYNC = ["always", "always", "20ms", "never"]
# Small segments, so that segments end and are removed, and files are rotated, between two kills.
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
            # Clients that never stop make the drain take its full time.
            stops += 1
            daemon.terminate()
        else:
            daemon.kill()
        if chance > 0.75:
            # Another kill during recovery.
            recoveries += 1
            daemon.spawn()
            time.sleep(trial.random.uniform(0, 1.2 * min(restarts)))
            daemon.kill()
        restarts.append(daemon.start())
    trial.stop_load()
    report = daemon.status()
    if report["journal"]["damaged"]:
        raise Failure(f"kill -9 loses no written data, but {report['journal']['damaged']} positions count as damaged")
    duplicates = trial.judge(daemon, trial.directory)
    return (
        f"{cycles} cycles ({recoveries} killed again in recovery, {stops} orderly), {trial.acknowledged:,} events"
        f" acknowledged, 0 lost, {duplicates}, ready after {spread(restarts)}")


HTTP_ALONE = """
routes: [ {{ to: [http] }} ]
destinations:
  http:
    http: "{url}"
    format: ndjson
    batch: {{ events: {events}, wait: 5ms }}
    in_flight: {in_flight}
    retry: {{ initial: 5ms, max: 100ms }}
    headers: {{ Life: "LIFE" }}
"""
SHORT_HTTP, LONG_HTTP = 8, 100


def kill9_http(trial):
    """kill -9 at full speed: an HTTP service gets at most the events in flight again."""
    cycles = LONG_HTTP if trial.is_long else SHORT_HTTP
    configuration = HTTP_ALONE.format(url=trial.receiver.url, events=sinks.HTTP_EVENTS, in_flight=sinks.HTTP_IN_FLIGHT)
    # The cursors are committed once an hour, so only the live cursors prevent repetitions.
    daemon = Daemon(trial.directory, configuration, "cursor_interval: 1h")
    trial.at_end.append(daemon.close)
    daemon.start()
    trial.load(daemon, 2, burst=400, pause=0)
    bound = sinks.HTTP_IN_FLIGHT * sinks.HTTP_EVENTS
    for _ in range(cycles):
        before = trial.receiver.tally.lines
        eventually("events arrive at full speed", lambda: trial.receiver.tally.lines > before + 10 * bound)
        time.sleep(trial.random.uniform(0, 0.2))
        daemon.kill()
        daemon.start()
    trial.stop_load()
    daemon.settle()
    daemon.terminate()
    faults, duplicates = sinks.judge(trial.ledger, {"http": trial.receiver.tally})
    repeated = [trial.receiver.repeated.get(str(life), 0) for life in range(2, daemon.life + 1)]
    if max(repeated) > bound:
        faults.append(f"after one kill {max(repeated)} events came again, and {bound} can have been in flight")
    if faults:
        raise Failure("; ".join(faults))
    return (
        f"{cycles} kills at full speed, {trial.acknowledged:,} events acknowledged, 0 lost, {duplicates['http']} came again: after"
        f" one kill {min(repeated)} to {max(repeated)}, {statistics.median(repeated):.0f} in the middle, at most {bound} in flight")


def accept_kills(trial):
    """A process that accepts clients is killed: its next instance has all of them (see accept_kills.c)."""
    here = pathlib.Path(__file__).resolve().parent
    linux = here.parent.parent / "Sources/CLinux"
    program = f"{trial.directory}/accept_kills"
    sources = [here / "accept_kills.c", linux / "AcceptRing.c", linux / "Handover.c"]
    subprocess.run(
        ["clang", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-pthread", "-I", linux / "include", "-o", program,
         *sources], check=True)
    count = 5000 if trial.is_long else 200
    run = subprocess.run([program, "ring", str(count)], capture_output=True, text=True)
    if run.returncode == 3:
        raise Skipped(run.stderr.strip())
    if run.returncode != 0:
        raise Failure(f"accept_kills ended with status {run.returncode}: {run.stderr}")
    clients, lost, twice, errors = map(int, run.stdout.split())
    if lost or twice or errors or clients < count:
        raise Failure(f"of {clients:,} clients, {lost} were lost, {twice} came twice, {errors} saw an error")
    return f"{count} kills, {clients:,} clients that connect for each event, 0 lost"

"""Plugins under load: their processes, the daemon and the database are killed in turn, and their files are replaced."""

import os
import pathlib
import shutil
import signal
import subprocess
import time

import sinks
from daemon import BINARIES, Daemon, Failure, eventually
from ledger import Tally
from trial import Skipped

# The journal keeps everything that an exactly-once plugin may ask for again.
JOURNAL = "segment_size: 1MiB, retain: { size: 64MiB }, cursor_interval: 100ms"
SHORT_KILLS, LONG_KILLS = 12, 600
SHORT_REPLACEMENTS, LONG_REPLACEMENTS = 40, 10_000
CLIENTS = 2

KILLED = """
routes: [ {{ to: [sqlite, postgres] }} ]
destinations:
  sqlite:
    plugin: sqlite
    settings: {{ path: {directory}/sqlite.db }}
    batch: {{ events: 200, wait: 5ms }}
    retry: {{ initial: 5ms, max: 100ms }}
  postgres:
    plugin: postgres
    settings: {{ dsn: "{dsn}", table: events }}
    batch: {{ events: 200, wait: 5ms }}
    retry: {{ initial: 5ms, max: 100ms }}
"""

REPLACED = """
plugins: {{ directories: [{directory}/plugins] }}
routes: [ {{ to: [sqlite] }} ]
destinations:
  sqlite:
    plugin: sqlite
    settings: {{ path: {directory}/sqlite.db }}
    batch: {{ events: 200, wait: 5ms }}
    retry: {{ initial: 5ms, max: 100ms }}
"""


class Postgres:
    """A server with a socket in its own directory. It refuses to run as root, so it has another user then."""

    PROGRAMS = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))

    def __init__(self, directory):
        if not self.PROGRAMS:
            raise Skipped("there is no PostgreSQL server")
        self.programs, self.directory = self.PROGRAMS[-1], directory / "postgres"
        self.directory.mkdir()
        self.user = "postgres" if os.geteuid() == 0 else None
        if self.user:
            shutil.chown(self.directory, self.user)
        self.name = self.user or os.environ.get("USER", "penstock")
        self.dsn = f"host={self.directory} user={self.name} dbname=postgres"
        self.run("initdb", "-D", self.directory / "data", "--auth=trust", "-U", self.name, "--no-sync")
        self.process = None
        self.start()

    def command(self, program, *words):
        words = [self.programs / program, *words]
        return ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups", *words] if self.user else words

    def run(self, *words):
        done = subprocess.run(self.command(*words), capture_output=True, text=True, cwd=self.directory)
        if done.returncode:
            raise Failure(f"{words[0]}: {done.stderr.strip()}")
        return done.stdout

    def start(self):
        def serves():
            # While a backend of the killed server lives, a new one ends at once.
            if self.process is None or self.process.poll() is not None:
                with open(self.directory.parent / "postgres.log", "ab") as log:
                    self.process = subprocess.Popen(
                        self.command("postgres", "-D", self.directory / "data", "-k", self.directory, "-h", ""),
                        cwd=self.directory, stdout=log, stderr=log)
            ready = subprocess.run(self.command("pg_isready", "-q", "-h", self.directory), cwd=self.directory)
            return ready.returncode == 0

        eventually("PostgreSQL serves", serves)

    def kill(self):
        """Kills the server. Its backends end on their own then, and the shared memory is released by the next start."""
        self.process.kill()
        self.process.wait()

    def rows(self):
        out = self.run("psql", "-h", self.directory, "-U", self.name, "-d", "postgres", "-Atc",
                       "SELECT message_id FROM events")
        return sinks.add_ids(Tally(), out.split())

    def close(self):
        if self.process:
            self.process.send_signal(signal.SIGINT)
            self.process.wait()


def children(daemon):
    """The processes of the daemon's plugins."""
    tasks = pathlib.Path(f"/proc/{daemon.process.pid}/task")
    return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]


def plugin_kills(trial):
    """Exactly once, whoever is killed: a plugin's process, the daemon, the database."""
    kills = LONG_KILLS if trial.is_long else SHORT_KILLS
    database = Postgres(trial.directory)
    trial.at_end.append(database.close)
    daemon = Daemon(trial.directory, KILLED.format(directory=trial.directory, dsn=database.dsn), JOURNAL)
    trial.at_end.append(daemon.close)
    daemon.start()
    trial.load(daemon, CLIENTS)
    for number in range(kills):
        time.sleep(trial.random.uniform(0, 0.15))
        if number % 3 == 0:
            before = eventually("the plugins' processes run", lambda: (found := children(daemon)) and len(found) == 2 and found)
            os.kill(trial.random.choice(before), signal.SIGKILL)
        elif number % 3 == 1:
            daemon.kill()
            daemon.start()
        else:
            database.kill()
            time.sleep(trial.random.uniform(0, 0.1))
            database.start()
    trial.stop_load()
    daemon.settle()
    daemon.terminate()
    tallies = {"sqlite": sinks.in_sqlite(trial.directory / "sqlite.db"), "postgres": database.rows()}
    faults, _ = sinks.judge(trial.ledger, tallies, exactly_once=set(tallies))
    if faults:
        raise Failure("; ".join(faults))
    rows = ", ".join(f"{name} {tally.lines:,}" for name, tally in tallies.items())
    return f"{kills} kills in turn, {trial.acknowledged:,} events acknowledged, each stored once: {rows}"


def reload(daemon):
    status, report = daemon.request("POST", "/reload")
    if status != 200 or not report["applied"]:
        raise Failure(f"a reload was refused: {report}")


def plugin_replacements(trial):
    """A plugin's file is replaced again and again: nothing is lost, and nothing leaks."""
    count = LONG_REPLACEMENTS if trial.is_long else SHORT_REPLACEMENTS
    directory = trial.directory / "plugins"
    directory.mkdir(mode=0o755)
    library, following = directory / "libsqlite.so", directory / "next"
    shutil.copy(BINARIES / "libsqlite.so", library)
    daemon = Daemon(trial.directory, "", JOURNAL)
    configuration = daemon.configuration.replace(f"plugins: {{ directories: [{BINARIES}] }}\n", "")
    daemon.configuration = configuration + REPLACED.format(directory=trial.directory)
    trial.at_end.append(daemon.close)
    daemon.start()
    trial.load(daemon, CLIENTS)

    def usage():
        eventually("the plugin runs", lambda: "deadline sqlite" in daemon.threads())
        descriptors = len(os.listdir(f"/proc/{daemon.process.pid}/fd"))
        status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
        memory = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
        return descriptors, memory, len(list(pathlib.Path(f"/proc/{daemon.process.pid}/task").iterdir()))

    warm = None
    for number in range(count):
        os.link(library, trial.directory / "old")
        shutil.copy(trial.directory / "old", following)
        os.rename(following, library)
        (trial.directory / "old").unlink()
        reload(daemon)
        daemon.drop_notices()
        if number == count // 10:
            warm = usage()
    trial.stop_load()
    daemon.settle()
    loads = daemon.log.count("loaded the plugin sqlite")
    end = usage()
    daemon.terminate()
    tallies = {"sqlite": sinks.in_sqlite(trial.directory / "sqlite.db")}
    faults, _ = sinks.judge(trial.ledger, tallies)
    # A connection or two, and what the allocator keeps.
    if end[0] > warm[0] + 4 or end[2] > warm[2] + 2:
        faults.append(f"{warm[0]} descriptors and {warm[2]} threads after a tenth, {end[0]} and {end[2]} at the end")
    if end[1] > warm[1] * 1.5 + 8192:
        faults.append(f"{warm[1]} KiB of memory after a tenth, {end[1]} KiB at the end")
    if faults:
        raise Failure("; ".join(faults))
    return (
        f"{count:,} replacements ({loads:,} logged loads), {trial.acknowledged:,} events acknowledged, each stored once;"
        f" descriptors {warm[0]} and {end[0]}, memory {warm[1] >> 10} and {end[1] >> 10} MiB, threads {warm[2]} and {end[2]}")

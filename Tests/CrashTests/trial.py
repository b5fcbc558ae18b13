"""The frame of one test: its directory, length, seed and findings."""

import contextlib
import pathlib
import random
import statistics

import sinks
from client import Client
from daemon import Failure
from ledger import ACKNOWLEDGED, Ledger


class Skipped(Exception):
    """The machine cannot run this test. The daemon is not at fault."""


class Trial:
    def __init__(self, name, directory, is_long, seed):
        self.name, self.directory, self.is_long, self.seed = name, pathlib.Path(directory), is_long, seed
        self.random = random.Random(f"{seed} {name}")
        self.ledger = Ledger()
        self.receiver = sinks.Receiver()
        self.clients = []
        # Functions to call at the end, the last one first.
        self.at_end = [self.receiver.close]

    def destinations(self, directory):
        """A configuration with every kind of destination."""
        return sinks.DESTINATIONS.format(
            directory=directory, url=self.receiver.url, events=sinks.HTTP_EVENTS, in_flight=sinks.HTTP_IN_FLIGHT)

    def load(self, daemon, clients, **pace):
        """Starts clients that send continuously. `pace`: see Client."""
        self.clients = [Client(daemon.events, self.ledger, number, self.seed, **pace) for number in range(clients)]
        for client in self.clients:
            client.start()
        self.at_end.append(lambda: [client.ended.set() for client in self.clients])

    def stop_load(self):
        for client in self.clients:
            client.stop()

    @property
    def acknowledged(self):
        return self.ledger.count(ACKNOWLEDGED)

    def judge(self, daemon, directory):
        """Lets the daemon finish, and compares the events that arrived with the acknowledged ones.

        Returns a description of the duplicates.
        """
        daemon.settle()
        letters = [letter["messageId"] for letter in daemon.dead_letters("picky")]
        daemon.terminate()
        tallies = {
            "file": sinks.in_files(directory, "file.ndjson"),
            "gzip": sinks.in_files(directory, "gzip.ndjson.gz"),
            "http": self.receiver.tally,
            "picky": sinks.add_ids(self.receiver.picky, letters),
            "sqlite": sinks.in_sqlite(directory / "sqlite.db"),
        }
        faults, duplicates = sinks.judge(self.ledger, tallies)
        if self.receiver.repeated_in_one_life:
            faults.append(
                f"http: {len(self.receiver.repeated_in_one_life)} events were sent twice by one process, though the"
                f" service had answered 200: {self.receiver.repeated_in_one_life[0]}")
        # Every destination gets the whole journal. An external service may also have events that a power cut removed.
        sizes = {name: tally.lines - duplicates[name] for name, tally in tallies.items()}
        if self.ledger.era:
            del sizes["http"], sizes["picky"]
        if len(set(sizes.values())) > 1:
            faults.append(f"the destinations differ in how many events they have: {sizes}")
        if faults:
            raise Failure("; ".join(faults))
        text = ", ".join(f"{name} {count}" for name, count in duplicates.items())
        most = max(self.receiver.repeated.values(), default=0)
        text = f"{len(letters)} dead letters, duplicates {text} (http: at most {most} after one crash)"
        if late := sinks.Verdict(self.ledger, tallies["file"]).lost_too_late:
            text += f", {late} acknowledged during the power cut are lost"
        return text

    def close(self):
        """Performs all closing actions, even if some fail."""
        with contextlib.ExitStack() as stack:
            for action in self.at_end:
                stack.callback(action)


def spread(seconds):
    """The smallest, median and largest value, in milliseconds."""
    low, middle, high = (1000 * value for value in (min(seconds), statistics.median(seconds), max(seconds)))
    return f"{low:.0f}/{middle:.0f}/{high:.0f} ms"

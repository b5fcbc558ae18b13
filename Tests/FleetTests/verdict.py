"""Compares what clients sent with what the aggregators have written: missing and repeated events, and the order."""

import collections
import itertools
import re

from ledger import Tally, Verdict, message_id
from load import USERS

LINE = re.compile(rb'"userId":"u(\d{4})","messageId":"c(\d{3})-(\d{8})","properties":\{"n":(\d+)')
BLOCK = 1 << 24
# The aggregator that has an event, if several have it.
SEVERAL = 255


class Outputs(Tally):
    """The events in the files of all aggregators."""

    def __init__(self):
        super().__init__()
        self.aggregators = []
        # For each client, the aggregator of each event, counted from 1.
        self.owners = {}
        # How often the same events are in the files of two aggregators, or twice in those of one.
        self.pairs = collections.Counter()
        # (client, number, what happened), and lines that are no event.
        self.suspects, self.damaged = [], []

    def add_files(self, aggregator, paths):
        """`paths`: in the order in which they were written."""
        self.aggregators.append(aggregator)
        seen, last = {}, {}
        for path in paths:
            rest = b""
            with open(path, "rb") as file:
                while block := file.read(BLOCK):
                    rest += block
                    end = rest.rfind(b"\n") + 1
                    self.add_text(aggregator, rest[:end], seen, last)
                    rest = rest[end:]
            self.torn += len(rest)

    def add_text(self, aggregator, text, seen, last):
        """`seen`: the events of each client in this aggregator's files. `last`: the last new one of each user."""
        owner, before = len(self.aggregators), self.lines
        for found in LINE.finditer(text):
            user, client, number, count = map(int, found.groups())
            self.add(client, number)
            if user != client * USERS + number % USERS or count != number // USERS:
                self.damaged.append(found[0].decode())
            page = seen.setdefault(client, bytearray())
            owners = self.owners.setdefault(client, bytearray())
            for one in (page, owners):
                if number >= len(one):
                    one.extend(bytes(number + 1 - len(one) + 4096))
            if page[number]:
                self.pairs[aggregator, aggregator] += 1
                continue
            page[number] = 1
            if owners[number]:
                if owners[number] != SEVERAL:
                    self.pairs[self.aggregators[owners[number] - 1], aggregator] += 1
                owners[number] = SEVERAL
            else:
                owners[number] = owner
            if number < last.get(user, -1):
                what = f"{aggregator}: {message_id(client, number)} after {message_id(client, last[user])}"
                self.suspects.append((client, number, what))
            last[user] = max(number, last.get(user, -1))
        if self.lines - before != text.count(b"\n"):
            self.damaged.append(f"{aggregator}: {text.count(10) - (self.lines - before)} lines that are no event")

    @property
    def disorder(self):
        """The events that came after later ones of their user. A repeated event does not count."""
        return [what for client, number, what in self.suspects if self.owners[client][number] != SEVERAL]

    @property
    def moves(self):
        """How often the events of a user changed the aggregator, in the order in which they were sent: the maximum."""
        most = 0
        for owners in self.owners.values():
            for first in range(USERS):
                # What several have tells nothing.
                known = owners[first::USERS].replace(b"\0", b"").replace(bytes([SEVERAL]), b"")
                most = max(most, sum(one != other for one, other in itertools.pairwise(known)))
        return most


class Judgement:
    def __init__(self, ledger, outputs):
        verdict = Verdict(ledger, outputs)
        self.missing, self.duplicates, self.disorder = len(verdict.lost), verdict.duplicates, len(outputs.disorder)
        self.moves, self.pairs = outputs.moves, outputs.pairs
        self.faults = list(ledger.lies) + verdict.faults("aggregators", exactly_once=False)
        for list_, what in ((outputs.disorder, "are out of order"), (outputs.damaged, "are damaged")):
            if list_:
                self.faults.append(f"{len(list_)} events {what}: {'; '.join(list_[:3])}")

    def limit(self, duplicates, moves):
        """Adds faults. None: any number."""
        if duplicates is not None and self.duplicates > duplicates:
            pairs = ", ".join(f"{one}/{other} {count}" for (one, other), count in self.pairs.most_common(5))
            self.faults.append(f"{self.duplicates:,} duplicates, and {duplicates:,} are permitted (in {pairs})")
        if moves is not None and self.moves > moves:
            self.faults.append(
                f"events of a user alternate between aggregators {self.moves} times, and {moves} are possible")

    def __str__(self):
        return f"{self.missing} missing, {self.duplicates:,} duplicates, {self.disorder} out of order"

"""The oracle: the answers that clients got for each event, and the events that arrived.

An event's id is `cNNN-NNNNNNNN`: its client's number and its own number. A client never sends an id twice,
so the daemon has repeated an id that arrives twice.
"""

import re
import threading

UNKNOWN, ACKNOWLEDGED, REFUSED, TOO_LATE = range(4)
ID = re.compile(rb'"messageId":"c(\d{3})-(\d{8})"')


def message_id(client, number):
    return f"c{client:03}-{number:08}"


class Ledger:
    """The answers to the clients. Each client uses its own page only."""

    def __init__(self):
        self.pages = {}
        # Answers that contradict earlier ones.
        self.lies = []
        self.reasons = {}
        # Counts power cuts. An answer that arrives after the cut does not count: a real machine could not have sent it.
        self.era = 0
        self._lock = threading.Lock()

    def page(self, client):
        with self._lock:
            return self.pages.setdefault(client, bytearray())

    def refused(self, client, number, answer):
        page = self.pages[client]
        with self._lock:
            self.reasons[answer["reason"]] = self.reasons.get(answer["reason"], 0) + 1
            if page[number] != UNKNOWN:
                self.lies.append(f"{message_id(client, number)} was refused after it had been acknowledged")
        page[number] = REFUSED

    def acknowledged(self, client, first, last, era):
        """Records acknowledgements from `first` up to, but not including, `last`, except for refused events."""
        page = self.pages[client]
        state = ACKNOWLEDGED if era == self.era else TOO_LATE
        page[first:last] = page[first:last].replace(bytes([UNKNOWN]), bytes([state]))

    def count(self, state):
        return sum(page.count(state) for page in self.pages.values())


class Tally:
    """How often each event arrived at one destination."""

    def __init__(self):
        self.pages = {}
        self.lines = 0
        # The number of bytes after the last complete line.
        self.torn = 0

    def add(self, client, number):
        page = self.pages.setdefault(client, bytearray())
        if number >= len(page):
            page.extend(bytes(number + 1 - len(page) + 4096))
        page[number] = min(page[number] + 1, 255)
        self.lines += 1

    def add_lines(self, text):
        """Adds events in NDJSON. Each line must hold one complete event."""
        end = text.rfind(b"\n") + 1
        self.torn += len(text) - end
        text = text[:end]
        before = self.lines
        for found in ID.finditer(text):
            self.add(int(found[1]), int(found[2]))
        if self.lines - before != text.count(b"\n"):
            raise ValueError(f"{self.lines - before} events in {text.count(10)} lines")

    def times(self, client, number):
        page = self.pages.get(client, b"")
        return page[number] if number < len(page) else 0

    @property
    def duplicates(self):
        return sum(max(0, times - 1) for page in self.pages.values() for times in page if times > 1)


class Verdict:
    """The comparison of one destination's tally with the ledger."""

    def __init__(self, ledger, tally):
        self.lost, self.unwanted, self.foreign, self.lost_too_late = [], [], [], 0
        for client, page in ledger.pages.items():
            got = tally.pages.get(client, bytearray())
            got = got + bytes(max(0, len(page) - len(got)))
            if got.rstrip(b"\0") and len(got.rstrip(b"\0")) > len(page):
                self.foreign.append(message_id(client, len(page)))
            for number, (state, times) in enumerate(zip(page, got)):
                if state == ACKNOWLEDGED and not times:
                    self.lost.append(message_id(client, number))
                elif state == REFUSED and times:
                    self.unwanted.append(message_id(client, number))
                elif state == TOO_LATE and not times:
                    self.lost_too_late += 1
        self.foreign += [f"of client {client}" for client in tally.pages if client not in ledger.pages]
        self.duplicates = tally.duplicates
        self.torn = tally.torn

    def faults(self, name, exactly_once):
        """The faults as sentences. Empty: all is well."""
        faults = []

        def say(ids, what):
            if ids:
                faults.append(f"{name}: {len(ids)} events {what}: {ids[0]} to {ids[-1]}")

        say(self.lost, "were acknowledged and are lost")
        say(self.unwanted, "were refused and delivered")
        say(self.foreign, "arrived that no client sent")
        if self.torn:
            faults.append(f"{name}: {self.torn} bytes of an incomplete line")
        if exactly_once and self.duplicates:
            faults.append(f"{name}: {self.duplicates} events repeated, but each must be there once")
        return faults

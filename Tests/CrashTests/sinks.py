"""The destinations: an HTTP service, files and a database, and the events that they hold in the end."""

import gzip
import sqlite3
import threading

from ledger import ID, Tally, Verdict, message_id
from service import Handler, Service

# Each destination gets every event. `picky` rejects some.
DESTINATIONS = """
routes: [ {{ to: [file, gzip, http, picky, sqlite] }} ]
destinations:
  file: {{ file: {directory}/file.ndjson, rotate: {{ size: 512KiB }} }}
  gzip: {{ file: {directory}/gzip.ndjson.gz, batch: {{ wait: 20ms }} }}
  http:
    http: "{url}"
    format: ndjson
    batch: {{ events: {events}, wait: 5ms }}
    in_flight: {in_flight}
    retry: {{ initial: 5ms, max: 100ms }}
    headers: {{ Life: "LIFE" }}
  picky:
    http: "{url}picky"
    format: ndjson
    batch: {{ events: 50, wait: 5ms }}
    retry: {{ initial: 5ms, max: 100ms }}
  sqlite:
    plugin: sqlite
    settings: {{ path: {directory}/sqlite.db }}
    batch: {{ events: 200, wait: 5ms }}
"""
# The number of events in a batch, and of batches in flight.
HTTP_EVENTS, HTTP_IN_FLIGHT = 100, 4
# `picky` rejects each batch that contains an event whose number is a multiple of this one.
REFUSED_FOR_GOOD = 10000
EXACTLY_ONCE = {"file", "gzip", "sqlite", "again"}


class Receiver:
    """Accepts posted events and records in which run of the daemon each was sent."""

    def __init__(self):
        self.tally, self.picky = Tally(), Tally()
        # A status to answer instead of 200.
        self.refusal = None
        self._lives = {}
        self.repeated_in_one_life = []
        self.repeated = {}
        self._lock = threading.Lock()
        receiver = self

        class Receiving(Handler):
            def do_POST(self):
                body = self.body()
                answer = receiver.refusal or 200
                if self.path == "/picky":
                    answer = receiver.pick(body)
                elif answer == 200:
                    receiver.take(body, self.headers["Life"])
                self.answer(answer)

        self._service = Service(Receiving)
        self.url = f"{self._service.url}/"

    def pick(self, body):
        """Accepts or rejects a batch."""
        with self._lock:
            found = [(int(one[1]), int(one[2])) for one in ID.finditer(body)]
            if any(number % REFUSED_FOR_GOOD == 0 for _, number in found):
                return 422
            for client, number in found:
                self.picky.add(client, number)
            return 200

    def take(self, body, life):
        with self._lock:
            for found in ID.finditer(body):
                client, number = int(found[1]), int(found[2])
                if self.tally.times(client, number):
                    self.repeated[life] = self.repeated.get(life, 0) + 1
                    if self._lives.get((client, number)) == life:
                        self.repeated_in_one_life.append(message_id(client, number))
                self._lives[client, number] = life
                self.tally.add(client, number)

    def close(self):
        self._service.close()


def in_files(directory, name):
    """The events that a file destination wrote, including rotated files."""
    tally = Tally()
    stem, _, extension = name.partition(".")
    for path in sorted(directory.glob(f"{stem}.*{extension}")):
        data = path.read_bytes()
        tally.add_lines(gzip.decompress(data) if path.suffix == ".gz" else data)
    return tally


def add_ids(tally, ids):
    for identifier in ids:
        tally.add(int(identifier[1:4]), int(identifier[5:]))
    return tally


def in_sqlite(path):
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return add_ids(Tally(), (row[0] for row in database.execute("SELECT message_id FROM events")))
    finally:
        database.close()


def judge(ledger, tallies, exactly_once=EXACTLY_ONCE):
    """Returns the faults, and the number of duplicates by destination."""
    faults = list(ledger.lies)
    duplicates = {}
    for name, tally in tallies.items():
        verdict = Verdict(ledger, tally)
        faults += verdict.faults(name, exactly_once=name in exactly_once)
        duplicates[name] = verdict.duplicates
    return faults, duplicates

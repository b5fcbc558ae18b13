"""kill -9 while objects are written to an object store: each event is in one object.

The store checks each signature (AWS's Signature Version 4) by itself. It is an unreliable one: it may answer late, store
an object without an answer, or refuse it for a moment.
"""

import gzip
import hashlib
import hmac
import random
import threading
import time
import urllib.parse

import sinks
from daemon import Daemon, Failure, eventually
from ledger import Tally
from service import Handler, Service

SHORT, LONG = 12, 200
KEY_ID, KEY, REGION, BUCKET = "penstock", "wJalrXUtnFEMI/K7MDENG", "eu-central-1", "events"

CONFIGURATION = """
secrets: {{ directory: {directory}/secrets }}
routes: [ {{ to: [objects] }} ]
destinations:
  objects:
    preset: s3_compatible
    endpoint: "{url}"
    bucket: {bucket}
    region: {region}
    key_id: {key_id}
    key: !secret store
    batch: {{ events: 300, wait: 20ms }}
    timeout: 2s
    retry: {{ initial: 5ms, max: 100ms }}
"""


def signature(method, path, query, headers, signed, digest, date, scope):
    """What the documentation says, computed from the request as it came."""
    def encode(text):
        return urllib.parse.quote(urllib.parse.unquote(text), safe="-._~")

    pairs = sorted(tuple(map(encode, (part.split("=", 1) + [""])[:2])) for part in query.split("&") if part)
    canonical = "\n".join([
        method, "/".join(encode(part) for part in path.split("/")), "&".join("=".join(pair) for pair in pairs),
        *(f"{name}:{' '.join(headers[name].split())}" for name in signed), "", ";".join(signed), digest])
    text = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{KEY}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class Store:
    def __init__(self, seed):
        self.objects, self.faults, self.writes, self.replaced = {}, [], 0, 0
        self.random = random.Random(seed)
        self.is_reliable = False
        self._lock = threading.Lock()
        store = self

        class Storing(Handler):
            def do_PUT(self):
                body = self.body()
                store.check(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
                chance = 1 if store.is_reliable else store.random.random()
                if chance < 0.05:
                    return self.answer(503)
                store.put(self.path, body)
                if chance < 0.1:
                    # It is stored, and nobody knows.
                    self.close_connection = True
                    return
                if chance < 0.5:
                    time.sleep(store.random.uniform(0, 0.05))
                self.answer(200)

        self._service = Service(Storing)
        self.url = self._service.url

    def check(self, target, headers, body):
        path, _, query = target.partition("?")
        fields = dict(part.strip().split("=", 1) for part in headers["authorization"].split(" ", 1)[1].split(","))
        key_id, scope = fields["Credential"].split("/", 1)
        expected = signature(
            "PUT", path, query, headers, fields["SignedHeaders"].split(";"), hashlib.sha256(body).hexdigest(),
            headers["x-amz-date"], scope)
        if key_id != KEY_ID or not hmac.compare_digest(expected, fields["Signature"]):
            self.faults.append(f"the signature of {target} is wrong")

    def put(self, path, body):
        with self._lock:
            self.writes += 1
            self.replaced += path in self.objects
            self.objects[path] = body

    def tally(self):
        tally = Tally()
        for path in sorted(self.objects):
            tally.add_lines(gzip.decompress(self.objects[path]))
        return tally

    def close(self):
        self._service.close()


def object_store(trial):
    """kill -9 at any moment: each event is in one object, once."""
    cycles = LONG if trial.is_long else SHORT
    store = Store(trial.seed)
    trial.at_end.append(store.close)
    secrets = trial.directory / "secrets"
    secrets.mkdir(mode=0o700)
    (secrets / "store").write_text(KEY)
    configuration = CONFIGURATION.format(
        directory=trial.directory, url=store.url, bucket=BUCKET, region=REGION, key_id=KEY_ID)
    # The cursors are committed once an hour, so only the live cursors prevent repetitions.
    daemon = Daemon(trial.directory, configuration, "cursor_interval: 1h")
    trial.at_end.append(daemon.close)
    daemon.start()
    trial.load(daemon, 2)
    for _ in range(cycles):
        before = store.writes
        eventually("objects are written", lambda: store.writes > before + 3)
        time.sleep(trial.random.uniform(0, 0.1))
        daemon.kill()
        daemon.start()
    trial.stop_load()
    store.is_reliable = True
    daemon.settle()
    daemon.terminate()
    faults, _ = sinks.judge(trial.ledger, {"objects": store.tally()}, {"objects"})
    faults += store.faults[:3]
    if faults:
        raise Failure("; ".join(faults))
    return (
        f"{cycles} kills, {trial.acknowledged:,} events acknowledged, in {len(store.objects)} objects, each once;"
        f" {store.replaced} objects were written again")

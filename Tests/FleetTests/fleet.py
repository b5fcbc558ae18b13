"""A fleet on this machine: a NATS cluster, edges and aggregators. Their configurations are the shipped examples."""

import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import threading
import time

from cluster import Cluster
from daemon import BINARIES, PATIENCE, Daemon, Failure, eventually
from ledger import ACKNOWLEDGED, Ledger
from load import Sender
from proxy import Proxy
from verdict import Judgement, Outputs

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "etc/penstock/examples/fleet"
STREAM, BUCKET = "EVENTS", "penstock_leases"
# The TTL of leases in seconds, as the plugin creates the bucket.
LEASE = 30
SERVERS = '["nats://n1.example:4222", "nats://n2.example:4222", "nats://n3.example:4222"]'


def replaced(text, changes):
    """`text` with each key of `changes` replaced. Each must be there."""
    for old, new in changes.items():
        if old not in text:
            raise Failure(f"the example configuration does not contain {old!r}: adapt {__file__}")
        text = text.replace(old, new)
    return text


def consumer(lane, lanes):
    """The name of a partition's consumer, as the plugin makes it: with FNV-1a of 64 bits, if there are several."""
    value = 0xCBF29CE484222325
    for byte in f"penstock.events.{lane}".encode():
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return f"aggregators-{value:016x}" if lanes > 1 else "aggregators"


def lease(lane, lanes):
    """The subject of a partition's lease."""
    return f"$KV.{BUCKET}.{STREAM}.{consumer(lane, lanes)}"


def urls(addresses):
    """A list in YAML."""
    return "[" + ", ".join(f'"nats://{address}:4222"' for address in addresses) + "]"


def plugins(directory):
    """A directory in which the plugin has its installed name: a build calls it libpenstock-nats.so."""
    directory.mkdir(exist_ok=True)
    if not (directory / "libnats.so").exists():
        shutil.copy(BINARIES / "libpenstock-nats.so", directory / "libnats.so")
    return f"plugins: {{ directories: [{directory}] }}"


class Host(Daemon):
    """A daemon of the fleet."""

    def __init__(self, name, directory, example, changes):
        self.name, self.changes = name, changes
        self.is_frozen = False
        # When it was started.
        self.begin = 0.0
        self.is_ready = threading.Event()
        super().__init__(directory, (EXAMPLES / example).read_text())
        threading.Thread(target=self.read_notices, daemon=True).start()

    def configure(self, text, _=""):
        changes = {"/var/lib/penstock/journal": str(self.journal), **self.changes}
        self.configuration = f"{replaced(text, changes)}\ncontrol: {{ socket: control.sock }}\n" + plugins(
            self.directory.parent / "plugins") + "\n"

    def spawn(self, *before):
        self.begin = time.monotonic()
        self.is_ready.clear()
        super().spawn(*before)

    def drop_notices(self):
        """Nothing: `read_notices` reads them all."""

    def read_notices(self):
        """As a service manager does. The daemon waits while the socket is full."""
        with contextlib.suppress(OSError):
            while notice := self.notices.recv(4096):
                if b"READY=1" in notice:
                    self.is_ready.set()

    def await_ready(self, patience=PATIENCE):
        eventually(f"{self.name} is ready", lambda: self.is_ready.is_set() or not self.is_running, patience)
        return self.is_ready.is_set()

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    @property
    def is_awake(self):
        return self.is_running and not self.is_frozen

    def children(self):
        """The processes of plugins."""
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task")
        return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]

    def freeze(self):
        self.is_frozen = True
        for pid in [self.process.pid, *self.children()]:
            os.kill(pid, signal.SIGSTOP)

    def thaw(self):
        if self.is_frozen:
            for pid in [*self.children(), self.process.pid]:
                os.kill(pid, signal.SIGCONT)
        self.is_frozen = False

    def kill(self):
        self.thaw()
        super().kill()

    def close(self):
        with contextlib.suppress(OSError):
            self.thaw()
        super().close()


class Edge(Host):
    def __init__(self, number, directory, servers, partitions, journal):
        super().__init__(f"edge{number}", directory, "edge.yaml", {
            SERVERS: servers, "/run/penstock/events.sock": "events.sock", "partitions: 64": f"partitions: {partitions}",
            "retain: { time: 7d, size: 20GiB }": journal,
        })

    @property
    def bus(self):
        return self.glance()["destinations"]["bus"]


class Aggregator(Host):
    def __init__(self, number, directory, servers, partitions, journal, files):
        super().__init__(f"aggregator{number}", directory, "aggregator.yaml", {
            SERVERS: servers, "partitions: 0-63": f'partitions: "0-{partitions - 1}"',
            "/var/lib/penstock/archive/%Y-%m-%d.ndjson.zst": f"{directory}/events.ndjson",
            "rotate: { size: 1GiB }\n    keep: { time: 90d }": files,
            "retain: { time: 7d, size: 100GiB }": journal,
        })

    @property
    def output(self):
        return self.directory / "events.ndjson"

    @property
    def source(self):
        return self.glance()["sources"]["edges"]


class Fleet:
    """One test's fleet and load."""

    def __init__(self, name, directory, is_long, seed, partitions=8):
        self.name, self.directory, self.is_long, self.seed = name, pathlib.Path(directory), is_long, seed
        self.random = random.Random(f"{seed} {name}")
        self.partitions = partitions
        segment, size = ("64MiB", "8GiB") if is_long else ("4MiB", "1GiB")
        self.journal = f"retain: {{ size: {size} }}\n  segment_size: {segment}"
        # Of aggregators: one file.
        self.files = ""
        self.ledger = Ledger()
        self.edges, self.aggregators, self.proxies, self.senders = [], [], [], []
        self.rate = 0
        self.cluster = Cluster(self.directory)

    # Members

    def start(self, edges=None, aggregators=None, ttl=LEASE):
        """`ttl`: of the leases in seconds."""
        self.cluster.start()
        count = aggregators if aggregators is not None else 3 if self.is_long else 2
        for _ in range(edges if edges is not None else 4 if self.is_long else 2):
            self.add_edge().spawn()
        if count:
            self.cluster.insist("the bucket is created", lambda: self.cluster.client.create_bucket(BUCKET, ttl, 3))
            self.write_leases(b"the test")
        for edge in self.edges:
            self.await_start(edge)
        # The first edge creates the stream.
        self.cluster.await_leader(STREAM)
        for _ in range(count):
            self.add_aggregator().spawn()
        for aggregator in self.aggregators:
            self.await_start(aggregator)
        if count:
            # Now all claim the partitions at the same time. Otherwise the first one would take them all.
            self.write_leases(b"")
            self.await_shares()

    def write_leases(self, owner):
        for lane in range(self.partitions):
            self.cluster.insist("a lease is written", lambda: self.cluster.client.store(
                lease(lane, self.partitions), owner))

    def create_stream(self, **more):
        """A stream as edge.yaml recommends it. Without one, the first edge creates one that keeps its messages."""
        more = {"retention": "workqueue", "discard": "new", **more}
        self.cluster.insist("the stream is created", lambda: self.cluster.client.create_stream(
            STREAM, ["penstock.events.*"], len(self.cluster.nodes), **more))

    @staticmethod
    def await_start(host):
        if not host.await_ready():
            raise Failure(f"{host.name} did not start: exit status {host.process.returncode}: {host.log_tail()}")

    def add_edge(self, is_direct=False):
        """`is_direct`: there is no proxy between it and the broker."""
        number = len(self.edges) + 1
        servers = [node.address for node in self.cluster.nodes]
        if not is_direct:
            here = [self.cluster.network.address(10 * number + index) for index in range(len(servers))]
            self.proxies.append(Proxy([((one, 4222), (other, 4222)) for one, other in zip(here, servers)]))
            servers = here
        self.edges.append(
            Edge(number, self.directory / f"edge{number}", urls(servers), self.partitions, self.journal))
        return self.edges[-1]

    def add_aggregator(self):
        number = len(self.aggregators) + 1
        servers = urls([node.address for node in self.cluster.nodes])
        self.aggregators.append(Aggregator(
            number, self.directory / f"aggregator{number}", servers, self.partitions, self.journal, self.files))
        return self.aggregators[-1]

    def open_lanes(self):
        """The number of lanes that each aggregator reads."""
        return [one.source["open_lanes"] if one.is_awake else 0 for one in self.aggregators]

    def await_lanes(self, patience=PATIENCE):
        """Waits until each partition has an owner."""
        eventually("each partition has an owner", lambda: sum(self.open_lanes()) == self.partitions, patience)

    def await_shares(self):
        """Waits until the partitions are shared out."""
        share = -(-self.partitions // len(self.aggregators))
        eventually(
            f"no aggregator has more than {share} of {self.partitions} partitions",
            lambda: sum(self.open_lanes()) == self.partitions and max(self.open_lanes()) <= share)

    # Load

    def load(self, rate=None, clients=2):
        """Starts clients at each edge that send `rate` events a second, all together."""
        self.rate = rate or (5000 if self.is_long else 400)
        for edge in self.edges:
            self.add_senders(edge, clients, self.rate // (clients * len(self.edges)))

    def add_senders(self, edge, count, rate):
        for _ in range(count):
            self.senders.append(Sender(edge.events, self.ledger, len(self.senders), self.seed, rate))
            self.senders[-1].start()

    def flow(self, short, long=None):
        """Lets events flow for some seconds."""
        time.sleep((long or short) if self.is_long else short)

    def stop_load(self):
        for sender in self.senders:
            sender.stop()

    # The end

    @property
    def acknowledged(self):
        return self.ledger.count(ACKNOWLEDGED)

    def drain(self, patience=PATIENCE):
        """Waits until the aggregators have written everything. Returns the time in seconds. Hosts that are not running
        are started, because their journals may have events."""
        begin = time.monotonic()
        for host in self.edges + self.aggregators:
            if not host.is_running:
                host.start()
        for edge in self.edges:
            edge.settle(patience=patience)
        eventually("the aggregators have read everything", self.is_read, patience)
        for aggregator in self.aggregators:
            aggregator.settle(patience=patience)
        return time.monotonic() - begin

    def is_read(self):
        """Whether every message of the stream is acknowledged."""
        try:
            state = self.cluster.client.stream(STREAM)
            consumers = self.cluster.client.consumers(STREAM)
        except OSError:
            return False
        if state["state"]["messages"] == 0 and state["config"]["retention"] == "workqueue":
            return True
        busy = sum(one["num_pending"] + one["num_ack_pending"] for one in consumers)
        return len(consumers) == self.partitions and busy == 0

    def judge(self, duplicates=0, moves=0):
        """Ends the daemons, and compares what they have written with the ledger. Returns the events and figures."""
        letters = [edge.name for edge in self.edges if edge.bus["dead_lettered"]]
        for host in self.edges + self.aggregators:
            (host.directory / "status.json").write_text(json.dumps(host.glance(), indent=2))
            host.terminate()
        replicas = self.cluster.replicas(STREAM)
        outputs = Outputs()
        for aggregator in self.aggregators:
            outputs.add_files(aggregator.name, [aggregator.output] if aggregator.output.exists() else [])
        judgement = Judgement(self.ledger, outputs)
        judgement.limit(duplicates, moves)
        judgement.faults += [f"{name} has dead letters" for name in letters]
        if judgement.faults and len(set(replicas.values())) > 1:
            # Sequences are then other messages on another server, and whoever reads by sequence skips some.
            judgement.faults.append(
                f"the broker is to blame: the replicas of the stream differ, {replicas}; try another nats-server"
                " (NATS_SERVER)")
        if not self.acknowledged:
            judgement.faults.append("no event was acknowledged")
        if judgement.faults:
            raise Failure("; ".join(judgement.faults))
        return f"{self.acknowledged:,} events, {judgement}"

    def close(self):
        for sender in self.senders:
            sender.ended.set()
        with contextlib.ExitStack() as stack:
            stack.callback(self.cluster.close)
            for part in [*self.proxies, *self.edges, *self.aggregators]:
                stack.callback(part.cut if isinstance(part, Proxy) else part.close)

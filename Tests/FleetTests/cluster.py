"""Three NATS servers with JetStream: a cluster on this machine, in a directory of its own."""

import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import urllib.request

from daemon import Failure, eventually
from nats import NATS
from trial import Skipped

# NATS_SERVER names another one. Debian installs it in /usr/sbin, which is not in every PATH.
PROGRAM = os.environ.get("NATS_SERVER") or shutil.which(
    "nats-server", path=os.environ.get("PATH", "") + ":/usr/sbin")

CONFIGURATION = """
server_name: {name}
listen: "{address}:4222"
http: "{address}:8222"
jetstream {{ store_dir: "{directory}", max_memory_store: 64MB, max_file_store: 40GB }}
cluster {{ name: {cluster}, listen: "{address}:6222", no_advertise: true, routes: [{routes}] }}
"""


class Network:
    """Addresses of the loopback network that nobody else uses: 127.X.Y.1 to 127.X.Y.253.

    A server that is stopped must find its port free when it starts again. So all have ports that no client is given
    as its own, and addresses instead.
    """

    def __init__(self):
        while True:
            self.prefix = f"127.{random.randrange(1, 255)}.{random.randrange(1, 255)}"
            self.claim = socket.socket()
            try:
                self.claim.bind((self.address(254), 4222))
                return
            except OSError:
                self.claim.close()

    def address(self, number):
        return f"{self.prefix}.{number}"


class Node:
    def __init__(self, name, address, directory, cluster, routes):
        self.name, self.address, self.directory = name, address, pathlib.Path(directory)
        self.directory.mkdir(parents=True)
        self.process, self.is_frozen = None, False
        (self.directory / "nats.conf").write_text(CONFIGURATION.format(
            name=name, address=address, directory=self.directory / "data", cluster=cluster, routes=routes))

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def start(self):
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(
                [PROGRAM, "-c", self.directory / "nats.conf"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def end(self, signum=signal.SIGKILL):
        if self.is_running:
            self.thaw()
            self.process.send_signal(signum)
            self.process.wait()
        self.is_frozen = False

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)
        self.is_frozen = True

    def thaw(self):
        if self.is_frozen:
            self.process.send_signal(signal.SIGCONT)
        self.is_frozen = False

    def ask(self, path):
        """A page of the monitoring port, as JSON; None: there is no answer."""
        try:
            with urllib.request.urlopen(f"http://{self.address}:8222/{path}", timeout=2) as answer:
                return json.load(answer)
        except (OSError, ValueError):
            return None


class Cluster:
    def __init__(self, directory, count=3, name="fleet"):
        if not PROGRAM:
            raise Skipped("there is no nats-server (Debian: apt-get install nats-server)")
        self.network = Network()
        self.count = count
        addresses = [self.network.address(number + 1) for number in range(count)]
        routes = ", ".join(f'"nats-route://{address}:6222"' for address in addresses)
        self.nodes = [
            Node(f"n{number + 1}", address, pathlib.Path(directory) / f"n{number + 1}", name, routes)
            for number, address in enumerate(addresses)
        ]
        self.client = self.connect()

    def connect(self):
        """A client of its own for a thread."""
        return NATS([(node.address, 4222) for node in self.nodes])

    @property
    def running(self):
        return [node for node in self.nodes if node.is_running and not node.is_frozen]

    def start(self):
        for node in self.nodes:
            if not node.is_running:
                node.start()
        self.await_ready()

    def stop(self):
        """Stops all servers at the same time."""
        for node in self.running:
            node.process.send_signal(signal.SIGTERM)
        for node in self.nodes:
            node.end(signal.SIGTERM)

    def await_ready(self):
        """Waits until all servers know the leader, which answers."""
        def is_ready():
            for node in self.nodes:
                if not node.is_running:
                    raise Failure(f"nats-server {node.name} ended: {(node.directory / 'log').read_text()[-500:]}")
                meta = (node.ask("jsz") or {}).get("meta_cluster") or {}
                if not meta.get("leader") or meta.get("cluster_size") != self.count:
                    return False
            return self.attempt(lambda: self.client.call("INFO")) is not None

        eventually("the NATS cluster has a leader", is_ready)

    def attempt(self, action):
        """The result of a request; None: there is no answer now."""
        try:
            return action()
        except OSError:
            return None

    def insist(self, what, action, patience=60.0):
        """The result of a request that is repeated until there is an answer."""
        return eventually(what, lambda: self.attempt(action), patience)

    def leader(self, stream):
        """The node that leads a stream; None: nobody does, or nobody knows."""
        for node in self.running:
            page = node.ask("jsz?accounts=true&streams=true") or {}
            for account in page.get("account_details") or []:
                for detail in account.get("stream_detail") or []:
                    name = (detail.get("cluster") or {}).get("leader")
                    leads = [other for other in self.running if other.name == name]
                    if detail["name"] == stream and leads:
                        return leads[0]
        return None

    def await_leader(self, stream):
        return eventually(f"the stream {stream} has a leader", lambda: self.leader(stream))

    def replicas(self, stream):
        """The number of messages that each node has."""
        found = {}
        for node in self.running:
            page = node.ask("jsz?accounts=true&streams=true") or {}
            for account in page.get("account_details") or []:
                found |= {
                    node.name: one["state"]["messages"] for one in account.get("stream_detail") or []
                    if one["name"] == stream
                }
        return found

    def close(self):
        self.client.close()
        for node in self.nodes:
            node.end()
        self.network.claim.close()

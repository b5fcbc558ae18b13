"""What the demonstration shows of a fleet: figures of each node, edge, partition and aggregator, again and again."""

import threading
import time

from fleet import BUCKET, STREAM, consumer, lease

class Rates:
    """Changes per second of counters, smoothed."""

    def __init__(self):
        self.last, self.rates = {}, {}

    def rate(self, key, value, now):
        if key in self.last and now > self.last[key][1]:
            before, since = self.last[key]
            fresh = max(0, value - before) / (now - since)
            self.rates[key] = 0.6 * self.rates.get(key, fresh) + 0.4 * fresh
        self.last[key] = (value, now)
        return self.rates.get(key, 0.0)


class View(threading.Thread):
    """Asks everybody again and again. `figures` is the last complete answer, as for JSON."""

    def __init__(self, fleet):
        super().__init__(daemon=True)
        self.fleet, self.rates, self.client = fleet, Rates(), fleet.cluster.connect()
        self.figures = {}
        # The UUIDs of the aggregators' journals.
        self.journals = {}
        self.ended = threading.Event()

    def run(self):
        while not self.ended.wait(0.5):
            self.refresh()

    def refresh(self):
        now = time.monotonic()
        self.figures = {
            "nodes": [self.node(node, now) for node in self.fleet.cluster.nodes],
            "edges": [self.edge(edge, now) for edge in self.fleet.edges],
            "partitions": self.partitions(now),
            "aggregators": [self.aggregator(one, now) for one in self.fleet.aggregators],
        }

    def node(self, node, now):
        page = node.ask("varz") if node.is_running else None
        if not page:
            return {"name": node.name, "state": "down"}
        streams = ((node.ask("jsz?accounts=true&streams=true") or {}).get("account_details") or [{}])[0]
        leads = [
            one["name"] for one in streams.get("stream_detail") or []
            if (one.get("cluster") or {}).get("leader") == node.name
        ]
        return {
            "name": node.name, "state": "up", "url": f"nats://{node.address}:4222", "leads": leads,
            "connections": page["connections"], "memory": page["mem"], "cpu": page["cpu"],
            "messages": self.rates.rate((node.name, "messages"), page["in_msgs"], now),
        }

    def status(self, host):
        try:
            return host.glance() if host.is_running else None
        except (OSError, ValueError):
            return None

    def edge(self, edge, now):
        status = self.status(edge)
        shown = {"name": edge.name, "control": str(edge.directory / "control.sock"), "state": "down"}
        if not status:
            return shown
        bus, apps = status["destinations"]["bus"], status["sources"]["apps"]
        return {
            **shown, "state": bus["state"], "lag": bus["lag_events"], "accepted": apps["accepted"],
            "rate_in": self.rates.rate((edge.name, "in"), apps["accepted"], now),
            "rate_out": self.rates.rate((edge.name, "out"), bus["delivered"], now),
        }

    def aggregator(self, one, now):
        status = self.status(one)
        shown = {"name": one.name, "control": str(one.directory / "control.sock"), "state": "down"}
        if not status:
            return shown
        archive, edges = status["destinations"]["archive"], status["sources"]["edges"]
        return {
            **shown, "state": edges["state"], "lanes": edges["open_lanes"], "lag": archive["lag_events"],
            "behind": int(edges["plugin"]["gauges"].get("nats_behind", 0)), "delivered": archive["delivered"],
            "rate_in": self.rates.rate((one.name, "in"), edges["accepted"], now),
            "rate_out": self.rates.rate((one.name, "out"), archive["delivered"], now),
        }

    def partitions(self, now):
        try:
            consumers = {one["name"]: one for one in self.client.consumers(STREAM)}
            return [self.partition(number, consumers, now) for number in range(self.fleet.partitions)]
        except OSError:
            return self.figures.get("partitions", [])

    def partition(self, number, consumers, now):
        found = self.client.message(f"KV_{BUCKET}", last_by_subj=lease(number, self.fleet.partitions))
        owner = found[2].decode(errors="replace") if found else ""
        facts = consumers.get(consumer(number, self.fleet.partitions), {})
        return {
            "number": number, "owner": self.owner(owner), "lag": facts.get("num_pending", 0),
            "rate": self.rates.rate(("partition", number), facts.get("delivered", {}).get("consumer_seq", 0), now),
        }

    def owner(self, text):
        """The aggregator whose journal a lease names; None: nobody has it."""
        for one in self.fleet.aggregators:
            if journal := self.journal_id(one):
                if text.startswith(journal):
                    return one.name
        return None

    def journal_id(self, one):
        if one.name not in self.journals and (one.journal / "manifest").exists():
            for line in (one.journal / "manifest").read_text(errors="replace").splitlines():
                if line.startswith("uuid "):
                    self.journals[one.name] = line.split()[1]
        return self.journals.get(one.name)

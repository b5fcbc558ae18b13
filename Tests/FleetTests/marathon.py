"""Ten minutes at 20,000 events a second, with a random fault every five seconds."""

import os
import signal
import time

import faults
from daemon import PATIENCE, Failure
from fleet import STREAM
from nats import Refused

SECONDS, PERIOD = 600, 5
RATE = 20_000
DRAIN = 60
# At most as many faults at a time: faults of all servers at once show nothing new, and take long.
AT_ONCE = 4
# How many messages a stream still takes before it is full: those of three seconds. A server removes messages beyond a
# new limit, also from a stream that refuses new ones.
ROOM = 1000
# A daemon that starts does not know SIGTERM yet.
YOUNG = 10
MOST_EDGES, MOST_AGGREGATORS = 6, 5


class Marathon:
    """The faults that are there now, and those to come. A fault is a function that returns a name of what it hit, the
    members that are hit, the function that mends them and the seconds until then; None: it can hit nothing now."""

    name = "the stream"

    def __init__(self, fleet):
        self.fleet, self.random = fleet, fleet.random
        # (time, those who are hit, function)
        self.to_mend = []
        self.counts = {}
        # What may come twice: after crash handovers, and events of messages that the test repeats.
        self.crashes, self.copies = 0, 0
        self.log = open(fleet.directory / "faults", "a", buffering=1)
        self.begin = time.monotonic()
        self.reader = fleet.cluster.connect()
        self.kinds = [
            (3, self.broker_killed), (2, self.broker_frozen), (2, self.leader_killed), (1, self.broker_away),
            (3, self.edge_killed), (1, self.edge_frozen), (1, self.edge_plugin_killed), (3, self.edge_partitioned),
            (1, self.edge_leaves), (1, self.edge_joins), (3, self.aggregator_killed), (2, self.aggregator_frozen),
            (1, self.aggregator_plugin_killed), (2, self.aggregator_leaves), (1, self.aggregator_joins),
            (2, self.redelivered), (2, self.stream_full),
        ]

    # What can be hit

    def choose(self, candidates):
        """One of those that no fault has hit."""
        healthy = [one for one in candidates if not self.is_hit(one)]
        return self.random.choice(healthy) if healthy else None

    def is_hit(self, one):
        return any(one in targets for _, targets, _ in self.to_mend)

    def node(self):
        """A server, if all others work: two that are away stop the whole broker."""
        return self.choose(self.fleet.cluster.nodes) if len(self.fleet.cluster.running) == 3 else None

    def between(self, low, high):
        return self.random.uniform(low, high)

    # Faults

    def broker_killed(self):
        if node := self.node():
            node.end()
            return node.name, [node], node.start, self.between(1, 10)

    def leader_killed(self):
        if len(self.fleet.cluster.running) == 3 and (node := self.fleet.cluster.leader(STREAM)):
            node.end()
            return node.name, [node], node.start, self.between(1, 10)

    def broker_frozen(self):
        if node := self.node():
            node.freeze()
            return node.name, [node], node.thaw, self.between(2, 20)

    def broker_away(self):
        if self.node():
            self.fleet.cluster.stop()
            return "all servers", self.fleet.cluster.nodes, self.broker_returns, self.between(2, 20)

    def broker_returns(self):
        for node in self.fleet.cluster.nodes:
            node.start()

    def edge_killed(self):
        if edge := self.choose(self.fleet.edges):
            edge.kill()
            return edge.name, [edge], edge.spawn, self.between(0, 5)

    def edge_frozen(self):
        if edge := self.choose(self.fleet.edges):
            edge.freeze()
            return edge.name, [edge], edge.thaw, self.between(2, 15)

    def edge_plugin_killed(self):
        if (edge := self.choose(self.fleet.edges)) and (plugins := edge.children()):
            os.kill(plugins[0], signal.SIGKILL)
            return edge.name, [], None, 0

    def edge_partitioned(self):
        if edge := self.choose(self.fleet.edges):
            proxy = self.fleet.proxies[self.fleet.edges.index(edge)]
            how = self.random.choice(["cut", "stall", "stall up", "stall down"])
            proxy.cut() if how == "cut" else proxy.stall(*how.split()[1:])
            return f"{edge.name}, {how}", [edge], proxy.heal, self.between(2, 20)

    def edge_leaves(self):
        return self.leaves(self.fleet.edges)

    def leaves(self, hosts):
        if one := self.choose([host for host in hosts if time.monotonic() > host.begin + YOUNG]):
            one.process.send_signal(signal.SIGTERM)

            def comes_back():
                if status := one.process.wait(PATIENCE):
                    raise Failure(f"{one.name} ended with status {status} after SIGTERM: {one.log_tail()}")
                one.spawn()

            return one.name, [one], comes_back, self.between(2, 30)

    def edge_joins(self):
        if len(self.fleet.edges) < MOST_EDGES:
            edge = self.fleet.add_edge()
            edge.spawn()
            # Its clients come instead of others'.
            self.fleet.add_senders(edge, 2, RATE // 8)
            for number in range(2):
                self.fleet.senders[4 * (len(self.fleet.edges) - 5) + 2 * number].ended.set()
            return edge.name, [], None, 0

    def aggregator_killed(self):
        if one := self.choose(self.fleet.aggregators):
            one.kill()
            self.crashes += 1
            return one.name, [one], one.spawn, self.between(0, 45)

    def aggregator_frozen(self):
        if one := self.choose(self.fleet.aggregators):
            one.freeze()
            self.crashes += 1
            return one.name, [one], one.thaw, self.between(2, 60)

    def aggregator_plugin_killed(self):
        if (one := self.choose(self.fleet.aggregators)) and (plugins := one.children()):
            os.kill(plugins[0], signal.SIGKILL)
            return one.name, [], None, 0

    def aggregator_leaves(self):
        return self.leaves(self.fleet.aggregators)

    def aggregator_joins(self):
        if len(self.fleet.aggregators) < MOST_AGGREGATORS:
            one = self.fleet.add_aggregator()
            one.spawn()
            return one.name, [], None, 0

    def redelivered(self):
        try:
            copies, events = faults.repeat(self.reader, self.fleet, 4, 5)
        except (OSError, Refused):
            # There is no broker now, or it is full.
            return None
        self.copies += events
        return f"{copies} copies", [], None, 0

    def stream_full(self):
        if self.is_hit(self) or not self.limit_stream(lambda messages: messages + ROOM):
            return None
        return "the stream", [self], self.has_room, self.between(5, 20)

    def limit_stream(self, most):
        """Sets the number of messages that the stream may have. Returns whether it was possible."""
        try:
            stream = self.reader.stream(STREAM)
            limits = {"max_msgs": most(stream["state"]["messages"])}
            self.reader.call(f"STREAM.UPDATE.{STREAM}", **{**stream["config"], **limits})
        except (OSError, Refused):
            return False
        return True

    def has_room(self):
        if not self.limit_stream(lambda _: -1):
            # There is no broker now.
            self.to_mend.append((time.monotonic() + 1, [self], self.has_room))

    # The course

    def say(self, text):
        self.log.write(f"{time.monotonic() - self.begin:7.1f} {text}\n")

    def mend(self, until):
        """Mends what is due until then."""
        for due in sorted((one for one in self.to_mend if one[0] <= until), key=lambda one: one[0]):
            self.to_mend.remove(due)
            _, targets, mend = due
            self.say(f"{', '.join(one.name for one in targets)}: mended")
            mend()

    def strike(self):
        if len(self.to_mend) >= AT_ONCE:
            return
        for _ in range(20):
            kind, = self.random.choices([kind for _, kind in self.kinds], [weight for weight, _ in self.kinds])
            if hit := kind():
                name = kind.__name__.replace("_", "-")
                self.counts[name] = self.counts.get(name, 0) + 1
                what, targets, mend, seconds = hit
                self.say(f"{name}: {what}, for {seconds:.1f} s")
                if targets:
                    self.to_mend.append((time.monotonic() + seconds, targets, mend))
                return

    def run(self, seconds):
        next_fault = self.begin + PERIOD
        while (now := time.monotonic()) < self.begin + seconds:
            self.mend(now)
            if now >= next_fault:
                next_fault += PERIOD
                self.strike()
            self.check()
            time.sleep(0.1)
        while self.to_mend:
            self.mend(float("inf"))
            time.sleep(0.1)

    def check(self):
        """Nothing may end on its own."""
        for host in self.fleet.edges + self.fleet.aggregators:
            if not self.is_hit(host):
                host.check_alive()
        for sender in self.fleet.senders:
            if sender.failure:
                raise sender.failure


def marathon(fleet):
    seconds = int(os.environ.get("PENSTOCK_MARATHON_SECONDS") or SECONDS)
    fleet.cluster.start()
    # nats-server 2.9.10 loses acknowledged messages of a work queue when a node stops for a while ("Error applying
    # entries: stream store EOF", and all replicas are reset), so this stream keeps its messages.
    fleet.create_stream(retention="limits")
    fleet.start()
    fleet.load(RATE)
    course = Marathon(fleet)
    course.run(seconds)
    mended = time.monotonic()
    fleet.stop_load()
    fleet.drain(2 * DRAIN)
    drained = time.monotonic() - mended
    count = sum(course.counts.values())
    judged = fleet.judge(duplicates=2 * RATE * course.crashes + course.copies, moves=None)
    if drained > DRAIN:
        raise Failure(f"the backlog was drained after {drained:.0f} s, and {DRAIN} s are permitted; {judged}")
    kinds = ", ".join(f"{name} {number}" for name, number in sorted(course.counts.items()))
    return f"{count} faults ({kinds}), {judged}, drained in {drained:.1f} s"

"""Each fault alone, as a test: what fails, and what must hold nevertheless."""

import os
import re
import signal
import time

from daemon import Failure, eventually
from fleet import LEASE, STREAM
from ledger import UNKNOWN

# The TTL of leases in short tests of a takeover, in seconds: the smallest.
SHORT_LEASE = 3
REPETITIONS = 100
# The messages that the short stream keeps.
FULL = 60


def steady(fleet):
    fleet.start()
    fleet.load()
    fleet.flow(6, 60)
    fleet.stop_load()
    seconds = fleet.drain()
    return f"{fleet.judge()}, drained in {seconds:.1f} s"


def broker_leader_killed(fleet):
    kills = 10 if fleet.is_long else 2
    fleet.start()
    fleet.load()
    longest = 0
    for _ in range(kills):
        fleet.flow(1, 5)
        leader = fleet.cluster.await_leader(STREAM)
        leader.end()
        begin = time.monotonic()
        eventually("another node leads the stream", lambda: fleet.cluster.leader(STREAM) not in (None, leader))
        longest = max(longest, time.monotonic() - begin)
        fleet.flow(1, 5)
        leader.start()
        fleet.cluster.await_ready()
    fleet.stop_load()
    seconds = fleet.drain()
    return f"{kills} kills, {fleet.judge()}, a new leader after {longest:.1f} s, drained in {seconds:.1f} s"


def broker_away(fleet):
    fleet.start()
    fleet.load()
    fleet.flow(2, 10)
    fleet.cluster.stop()
    away = 60 if fleet.is_long else 5
    time.sleep(away)
    # The edges go on accepting events.
    backlog = sum(edge.bus["lag_events"] for edge in fleet.edges)
    if backlog < fleet.rate * away // 2:
        raise Failure(f"{backlog} events wait at the edges, though {fleet.rate} a second were sent for {away} s")
    fleet.cluster.start()
    fleet.flow(1, 10)
    fleet.stop_load()
    seconds = fleet.drain()
    # An outage may end leases, and what the aggregators know of each other: partitions move, and move back.
    return f"away for {away} s, backlog {backlog:,}, {fleet.judge(moves=2)}, drained in {seconds:.1f} s"


def aggregator_killed(fleet):
    fleet.start(ttl=LEASE if fleet.is_long else SHORT_LEASE)
    fleet.load()
    fleet.flow(2, 10)
    victim = max(fleet.aggregators, key=lambda one: one.source["open_lanes"])
    lanes = victim.source["open_lanes"]
    victim.kill()
    begin = time.monotonic()
    replacement = fleet.add_aggregator()
    replacement.start()
    fleet.await_lanes()
    seconds = time.monotonic() - begin
    fleet.flow(1, 10)
    # The machine comes back with its journal: what it has stored is delivered, and nothing is read.
    victim.start()
    fleet.flow(1, 10)
    fleet.stop_load()
    fleet.drain()
    # A partition moves when the victim is gone, when the other one joins, and when the victim is back. What comes twice:
    # the messages that were stored and not acknowledged. Normally the events of some milliseconds.
    return f"{lanes} lanes taken over after {seconds:.1f} s, {fleet.judge(duplicates=2 * fleet.rate, moves=3)}"


def freeze_with_offers(aggregator):
    """Stops an aggregator's processes when the daemon has offers that it has not stored. Returns the journal's end."""
    plugin, = aggregator.children()
    os.kill(plugin, signal.SIGSTOP)
    ends = [-1]

    def is_quiet():
        ends.append(aggregator.glance()["journal"]["next"])
        time.sleep(0.1)
        return len(ends) > 3 and ends[-1] == ends[-2] == ends[-3]

    eventually("the daemon has stored what was offered", is_quiet)
    os.kill(aggregator.process.pid, signal.SIGSTOP)
    aggregator.is_frozen = True
    os.kill(plugin, signal.SIGCONT)
    time.sleep(0.7)
    os.kill(plugin, signal.SIGSTOP)
    return ends[-1]


def aggregator_frozen(fleet):
    """A daemon that stood still must not store anything of the lanes that it has lost meanwhile."""
    fleet.start(aggregators=2, ttl=LEASE if fleet.is_long else SHORT_LEASE)
    fleet.load()
    fleet.flow(2, 10)
    zombie = max(fleet.aggregators, key=lambda one: one.source["open_lanes"])
    lanes = zombie.source["open_lanes"]
    end = freeze_with_offers(zombie)
    begin = time.monotonic()
    fleet.await_lanes()
    takeover = time.monotonic() - begin
    time.sleep(max(0, (60 if fleet.is_long else 8) - takeover))
    frozen = time.monotonic() - begin
    zombie.thaw()
    for _ in range(30):
        time.sleep(0.1)
        # A new process of the plugin may read what it claims anew.
        is_new = zombie.log.count("the plugin nats started") > 1
        now = zombie.glance()["journal"]["next"]
        if now != end and not is_new:
            raise Failure(
                f"the zombie stored positions {end} to {now} after its leases had ended, with"
                f" {fleet.open_lanes()} lanes open: {zombie.log_tail()}")
    if "an offer was not stored in time" not in zombie.log:
        raise Failure(f"the zombie had no offers when it stood still, so this shows nothing: {zombie.log_tail()}")
    fleet.stop_load()
    fleet.drain()
    judged = fleet.judge(duplicates=2 * fleet.rate, moves=2)
    return (
        f"{lanes} lanes frozen for {frozen:.0f} s, taken over after {takeover:.1f} s, 0 events of theirs stored by the zombie,"
        f" {judged}")


def edge_killed(fleet):
    kills = 20 if fleet.is_long else 4
    fleet.start()
    fleet.load()
    for number in range(kills):
        fleet.flow(fleet.random.uniform(0.3, 1), 3)
        edge = fleet.random.choice(fleet.edges)
        if number % 4 == 3:
            os.kill(eventually("the plugin's process runs", edge.children)[0], signal.SIGKILL)
        else:
            edge.kill()
            edge.start()
    fleet.flow(1, 5)
    fleet.stop_load()
    fleet.drain()
    unknown = fleet.ledger.count(UNKNOWN)
    return f"{kills} kills, {fleet.judge()}, {unknown:,} without an answer"


def edge_partitioned(fleet):
    seconds = 60 if fleet.is_long else 3
    fleet.start()
    fleet.load()
    fleet.flow(1, 5)
    proxy = fleet.proxies[0]
    # The third: the broker stores what the edge sends, and the edge does not learn it.
    for fault in (proxy.cut, proxy.stall, lambda: proxy.stall("down")):
        fault()
        time.sleep(seconds)
        proxy.heal()
        fleet.flow(1, 5)
    fleet.stop_load()
    drained = fleet.drain()
    return f"3 partitions of {seconds} s, {fleet.judge()}, drained in {drained:.1f} s"


def stream_full(fleet):
    """A stream that refuses messages: they wait at the edges, until aggregators have made room."""
    fleet.cluster.start()
    most = 2000 if fleet.is_long else FULL
    fleet.create_stream(max_msgs=most)
    fleet.start(aggregators=0)
    fleet.load()
    stored = fleet.cluster.client.stream
    eventually("the stream is full", lambda: stored(STREAM)["state"]["messages"] == most)

    def backlog():
        return sum(edge.bus["lag_events"] for edge in fleet.edges)

    fleet.flow(2, 20)
    waiting = eventually("events wait at the edges", lambda: (found := backlog()) > fleet.rate and found)
    for _ in range(2):
        fleet.add_aggregator().start()
    fleet.flow(2, 10)
    fleet.stop_load()
    seconds = fleet.drain()
    return f"full with {most:,} messages, backlog {waiting:,}, {fleet.judge()}, drained in {seconds:.1f} s"


def without_message_id(header):
    """A message's header without the field by which the broker recognises it."""
    return b"\r\n".join(line for line in header.split(b"\r\n") if not line.startswith(b"Nats-Msg-Id:"))


def repeat(client, fleet, times, most=None):
    """Publishes the oldest messages of the stream again and again: first in order, then in any. Returns the number of
    copies, and of their events."""
    state = client.stream(STREAM)["state"]
    numbers = range(state["first_seq"], state["last_seq"] + 1)[:most]
    found = [one for number in numbers if (one := client.message(STREAM, seq=number)) and b"Nats-Msg-Id:" in one[1]]
    events = sum(int(re.search(rb"penstock-events: *(\d+)", header)[1]) for _, header, _, _ in found)
    for _ in range(times):
        for subject, header, payload, _ in found:
            client.store(subject, payload, without_message_id(header))
        fleet.random.shuffle(found)
    return times * len(found), times * events


def redelivered(fleet):
    fleet.start()
    fleet.load()
    fleet.flow(2, 10)
    copies, events = repeat(fleet.cluster.client, fleet, REPETITIONS, 200 if fleet.is_long else 16)
    if not copies:
        raise Failure("the stream has no message of an edge")
    fleet.flow(1, 5)
    fleet.stop_load()
    fleet.drain()
    dropped = sum(one.source["duplicates"] for one in fleet.aggregators)
    if dropped < events:
        raise Failure(f"{events:,} events were sent again, and the aggregators dropped {dropped:,}")
    return f"{copies:,} copies of messages with {events:,} events, {fleet.judge()}"


def two_claims(fleet):
    """One partition, and two aggregators that start at once."""
    rounds = 10 if fleet.is_long else 3
    fleet.start(aggregators=0)
    fleet.load()
    both = [fleet.add_aggregator() for _ in range(2)]
    winners = []
    for _ in range(rounds):
        for one in fleet.random.sample(both, 2):
            one.spawn()
        for one in both:
            fleet.await_start(one)
        eventually("an aggregator has the partition", lambda: sum(fleet.open_lanes()) > 0)
        end = time.monotonic() + (5 if fleet.is_long else 1)
        while time.monotonic() < end:
            if (lanes := fleet.open_lanes()) not in ([0, 1], [1, 0]):
                raise Failure(f"the aggregators read {lanes} lanes of the same partition")
        winners.append(fleet.open_lanes().index(1) + 1)
        for one in fleet.random.sample(both, 2):
            one.terminate()
    fleet.stop_load()
    fleet.drain()
    return f"{rounds} rounds won by {winners}, {fleet.judge(moves=2 * rounds + 1)}"


def joining(fleet):
    """An aggregator that joins gets its share of the partitions, and nothing is lost, repeated or out of order."""
    fleet.start(aggregators=1)
    fleet.load()
    longest = 0
    for _ in range(2):
        fleet.flow(1, 5)
        fleet.add_aggregator().start()
        begin = time.monotonic()
        fleet.await_shares()
        longest = max(longest, time.monotonic() - begin)
    shares = fleet.open_lanes()
    fleet.flow(1, 5)
    fleet.stop_load()
    fleet.drain()
    # A partition moves at most once for each that joined.
    return f"partitions {shares}, {fleet.judge(moves=2)}, shared out after {longest:.1f} s"


def handover(fleet):
    """Aggregators come and go in an orderly way, under load."""
    rounds = 10 if fleet.is_long else 3
    fleet.start(aggregators=2)
    fleet.load()
    third = fleet.add_aggregator()
    third.start()
    longest = 0
    for number in range(rounds):
        fleet.flow(1, 5)
        leaver = fleet.aggregators[number % len(fleet.aggregators)]
        leaver.terminate()
        begin = time.monotonic()
        fleet.await_lanes()
        longest = max(longest, time.monotonic() - begin)
        leaver.start()
    fleet.flow(1, 5)
    fleet.stop_load()
    fleet.drain()
    # A partition moves when the third one joins, and whenever one leaves or comes back.
    judged = fleet.judge(moves=2 * rounds + 1)
    return f"{rounds} aggregators left and came back, {judged}, all partitions owned after {longest:.1f} s"

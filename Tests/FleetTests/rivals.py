"""An edge with Kafka beside rsyslog with omkafka: both send to a mock broker of librdkafka, which keeps little.

rsyslog keeps the events in memory here: it acknowledges nothing, and a crash loses what waits. Penstock stores each
event before it acknowledges it.
"""

import ctypes.util
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from daemon import Daemon, eventually

PATIENCE = 300.0
RSYSLOGD = shutil.which("rsyslogd", path=os.environ.get("PATH", "") + ":/usr/sbin")

PENSTOCK = """
routes: [ {{ to: [bus] }} ]
destinations:
  bus:
    plugin: kafka
    batch: {{ events: 10000, bytes: 4MiB, wait: 200ms }}
    settings: {{ brokers: ["{broker}"], topic: events, format: penstock }}
"""
RSYSLOG = """
global(workDirectory="{directory}" maxMessageSize="64k" parser.parseHostnameAndTag="off" net.enableDNS="off")
module(load="imptcp")
module(load="omkafka")
template(name="event" type="string" string="%msg%")
input(type="imptcp" path="{directory}/in.sock" ruleset="all" unlink="on")
ruleset(name="all" queue.type="FixedArray" queue.size="100000" queue.dequeueBatchSize="1024"
    queue.timeoutEnqueue="2000000000") {{
  action(type="omkafka" broker=["{broker}"] topic="events" template="event" partitions.auto="on" resubmitOnFailure="on"
      confParam=["compression.codec=zstd", "linger.ms=200", "queue.buffering.max.messages=200000"])
}}
"""


def missing():
    """Why there can be no measurement; None: there can."""
    if not RSYSLOGD or not list(pathlib.Path("/usr/lib").glob("*/rsyslog/omkafka.so")):
        return "needs rsyslog with omkafka (Debian: apt-get install rsyslog rsyslog-kafka)"
    if not ctypes.util.find_library("rdkafka"):
        return "needs librdkafka (Debian: apt-get install librdkafka1)"
    return None


class Broker:
    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, pathlib.Path(__file__).with_name("mock_kafka.py")], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = self.process.stdout.readline().strip()

    @property
    def messages(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self):
        self.process.kill()
        self.process.wait()


def penstock(load_kind, meter_kind):
    def measure(options):
        directory, broker = pathlib.Path(tempfile.mkdtemp(prefix="penstock-bench.")), Broker()
        os.chmod(directory, 0o755)
        daemon = Daemon(directory, PENSTOCK.format(broker=broker.address), "retain: { size: 64GiB }")
        try:
            daemon.start()

            def children():
                tasks = pathlib.Path(f"/proc/{daemon.process.pid}/task")
                return [int(one) for task in tasks.iterdir() for one in (task / "children").read_text().split()]

            plugin = eventually("the plugin runs", children)
            load = load_kind(daemon.events, options.events)
            meter = meter_kind({"edge daemon": [daemon.process.pid], "edge plugin": plugin})
            begin = load.begin(lambda: daemon.glance()["sources"]["apps"]["accepted"] > 0)

            def is_done():
                time.sleep(0.05)
                return daemon.glance()["destinations"]["bus"]["delivered"] >= options.events

            eventually("the broker has all events", is_done, PATIENCE)
            seconds, used = time.monotonic() - begin, meter.used(options.events)
            load.end()
            return options.events / seconds, used, f"{broker.messages:,} messages"
        finally:
            daemon.close()
            broker.close()
            shutil.rmtree(directory, ignore_errors=True)

    return measure


def rsyslog(load_kind, meter_kind):
    def measure(options):
        directory, broker = pathlib.Path(tempfile.mkdtemp(prefix="penstock-bench.")), Broker()
        configuration, daemon = directory / "rsyslog.conf", None
        configuration.write_text(RSYSLOG.format(directory=directory, broker=broker.address))
        try:
            daemon = subprocess.Popen([RSYSLOGD, "-n", "-f", configuration, "-i", directory / "pid"])
            eventually("rsyslog serves", (directory / "in.sock").exists)
            load = load_kind(directory / "in.sock", options.events, is_syslog=True)
            meter = meter_kind({"rsyslog": [daemon.pid]})
            begin = load.begin(lambda: True)

            def is_done():
                time.sleep(0.2)
                return broker.messages >= options.events

            eventually("the broker has all events", is_done, PATIENCE)
            seconds, used = time.monotonic() - begin, meter.used(options.events)
            load.end()
            return options.events / seconds, used, f"{broker.messages:,} messages, in memory only"
        finally:
            if daemon:
                daemon.send_signal(signal.SIGKILL)
                daemon.wait()
            broker.close()
            shutil.rmtree(directory, ignore_errors=True)

    return measure

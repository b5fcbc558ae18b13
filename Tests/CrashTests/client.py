"""Clients of the events' socket. They record the daemon's answers in the ledger."""

import json
import random
import select
import socket
import threading
import time

from daemon import PATIENCE, Failure
from ledger import UNKNOWN, message_id


class Connection:
    """One connection with acknowledgements. It starts at the ledger's next event."""

    def __init__(self, path, ledger, client, padding=0):
        self.ledger, self.client, self.padding = ledger, client, padding
        self.page = ledger.page(client)
        self.era = ledger.era
        # The event number of line 1.
        self.first = len(self.page)
        self.acknowledged = self.first
        self.unread = b""
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        try:
            self.socket.connect(path)
            self.socket.sendall(b'{"penstock":{"acks":true}}\n')
        except OSError:
            self.socket.close()
            raise

    @property
    def outstanding(self):
        return len(self.page) - self.acknowledged

    def line(self, number):
        return (
            f'{{"type":"track","event":"Crash Test","userId":"u","messageId":"{message_id(self.client, number)}",'
            f'"properties":{{"padding":"{"x" * self.padding}"}}}}\n')

    def send(self, count):
        """Sends the next events. Blocks while the daemon reads nothing."""
        start = len(self.page)
        text = "".join(self.line(number) for number in range(start, start + count)).encode()
        self.page.extend(bytes([UNKNOWN]) * count)
        # Reads and writes at once, because a daemon whose answers are not read stops reading.
        deadline = time.monotonic() + PATIENCE
        while text:
            readable, writable, _ = select.select([self.socket], [self.socket], [], 1)
            if readable and not self.read(0):
                raise ConnectionResetError
            if writable:
                text = text[self.socket.send(text, socket.MSG_DONTWAIT):]
                deadline = time.monotonic() + PATIENCE
            elif time.monotonic() > deadline:
                raise Failure(f"the daemon has not read for {PATIENCE:.0f} s")

    def read(self, timeout):
        """Reads the answers that arrive within `timeout` seconds. Returns False when the connection has ended."""
        if not select.select([self.socket], [], [], timeout)[0]:
            return True
        block = self.socket.recv(1 << 16)
        *lines, self.unread = (self.unread + block).split(b"\n")
        for line in lines:
            answer = json.loads(line)
            if "ack" in answer:
                last = min(self.first + answer["ack"], len(self.page))
                self.ledger.acknowledged(self.client, self.acknowledged, last, self.era)
                self.acknowledged = max(self.acknowledged, last)
            else:
                refused = answer["refused"]
                self.ledger.refused(self.client, self.first + refused["line"] - 1, refused)
        return bool(block)

    def drain(self, timeout):
        """Waits up to `timeout` seconds until every event is answered. Returns whether this is so."""
        deadline = time.monotonic() + timeout
        while self.outstanding and (left := deadline - time.monotonic()) > 0:
            if not self.read(left):
                break
        return not self.outstanding

    def close(self):
        self.socket.close()


class Client(threading.Thread):
    """Sends events until it is stopped, across restarts of the daemon."""

    # The maximum number of lines without an answer.
    WINDOW = 1000
    # The kind of connection.
    connect = Connection

    def __init__(self, path, ledger, number, seed, burst=12, pause=0.02):
        super().__init__(daemon=True)
        self.path, self.ledger, self.number = path, ledger, number
        self.burst, self.pause = burst, pause
        self.random = random.Random(f"{seed} client {number}")
        self.ended = threading.Event()
        self.failure = None

    def run(self):
        while not self.ended.is_set():
            try:
                connection = self.connect(self.path, self.ledger, self.number, padding=self.random.randrange(400))
            except OSError:
                # The daemon is down: try again soon.
                self.ended.wait(0.002)
                continue
            try:
                self.session(connection)
            except Failure as failure:
                self.failure = failure
            except OSError:
                pass
            try:
                # Acknowledgements from before the disconnect count, too.
                while connection.read(0.2) and connection.outstanding and not self.ended.is_set():
                    pass
            except OSError:
                pass
            connection.close()

    def session(self, connection):
        while not self.ended.is_set():
            connection.send(self.random.randint(1, self.burst))
            while connection.outstanding > self.WINDOW and not self.ended.is_set():
                if not connection.read(0.1):
                    return
            if not connection.read(0):
                return
            self.ended.wait(self.random.uniform(0, self.pause))
        connection.drain(1)

    def stop(self):
        self.ended.set()
        self.join()
        if self.failure:
            raise self.failure

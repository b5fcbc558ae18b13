"""A client of NATS, as far as the tests need it: requests, publishing, and JetStream's API for streams."""

import base64
import json
import os
import socket

PATIENCE = 3.0


class Refused(Exception):
    """The server has answered with an error."""


class NATS:
    """A connection to the first of several servers that answers. After an error, the next call connects again. Belongs
    to one thread."""

    def __init__(self, addresses):
        self.addresses = addresses
        self.socket, self.reader, self.count = None, None, 0
        self.inbox = f"_INBOX.{os.urandom(8).hex()}"

    def connect(self):
        if self.socket:
            return
        for address in self.addresses:
            try:
                self.socket = socket.create_connection(address, PATIENCE)
                self.reader = self.socket.makefile("rb")
                if not self.reader.readline().startswith(b"INFO "):
                    raise OSError(f"{address} is not a NATS server")
                options = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True}
                self.send(f"CONNECT {json.dumps(options)}\r\nSUB {self.inbox}.* 1\r\nPING\r\n".encode())
                self.await_pong()
                return
            except OSError:
                self.close()
        raise OSError("no NATS server answers")

    def close(self):
        if self.socket:
            self.reader.close()
            self.socket.close()
        self.socket = None

    def send(self, data):
        self.socket.sendall(data)

    def read(self):
        """Reads one message of the server. Returns (subject, header, payload); None for others than messages."""
        line = self.reader.readline()
        words = line.decode().split()
        if not words:
            raise OSError("the connection has ended")
        if words[0] == "PING":
            self.send(b"PONG\r\n")
        if words[0] == "-ERR":
            raise OSError(line.decode().strip())
        if words[0] not in ("MSG", "HMSG"):
            return words[0]
        size = int(words[-1])
        data = self.reader.read(size + 2)[:size]
        head = int(words[-2]) if words[0] == "HMSG" else 0
        return words[1], data[:head], data[head:]

    def await_pong(self):
        while self.read() != "PONG":
            pass

    def publish(self, subject, payload, header=b"", reply=""):
        """`header`: with its first line and the empty last one, as servers send it."""
        self.connect()
        if header:
            words = f"HPUB {subject} {reply} {len(header)} {len(header) + len(payload)}\r\n"
        else:
            words = f"PUB {subject} {reply} {len(payload)}\r\n"
        self.send(words.encode() + header + payload + b"\r\n")

    def request(self, subject, payload=b"", header=b""):
        """Returns the payload of the answer."""
        try:
            self.count += 1
            inbox = f"{self.inbox}.{self.count}"
            self.publish(subject, payload, header, inbox)
            while not isinstance(answer := self.read(), tuple) or answer[0] != inbox:
                pass
            if answer[1].startswith(b"NATS/1.0 503"):
                raise OSError(f"nobody answers at {subject}")
            return answer[2]
        except OSError:
            self.close()
            raise

    # JetStream

    def call(self, api, **body):
        answer = json.loads(self.request(f"$JS.API.{api}", json.dumps(body).encode() if body else b""))
        if error := answer.get("error"):
            # 503: a leader is being elected.
            raise (OSError if error["code"] == 503 else Refused)(f"{api}: {error['description']}")
        return answer

    def create_stream(self, name, subjects, replicas, **more):
        more = {"retention": "limits", "storage": "file", "discard": "old", **more}
        return self.call(f"STREAM.CREATE.{name}", name=name, subjects=subjects, num_replicas=replicas, **more)

    def create_bucket(self, name, seconds, replicas):
        """A key-value bucket whose keys expire."""
        return self.create_stream(
            f"KV_{name}", [f"$KV.{name}.>"], replicas, max_msgs_per_subject=1, max_age=seconds * 10**9, discard="new",
            duplicate_window=seconds * 10**9, deny_delete=True, allow_rollup_hdrs=True, allow_direct=True)

    def stream(self, name):
        return self.call(f"STREAM.INFO.{name}")

    def consumers(self, stream):
        found, total = [], 1
        while len(found) < total:
            page = self.call(f"CONSUMER.LIST.{stream}", offset=len(found))
            total = page["total"]
            if not page["consumers"]:
                break
            found += page["consumers"]
        return found

    def message(self, stream, **key):
        """A stored message: (subject, header, payload, sequence). `key`: seq, or last_by_subj; or seq and
        next_by_subj, the first of a subject from there. None: it is not there."""
        try:
            found = self.call(f"STREAM.MSG.GET.{stream}", **key)["message"]
        except Refused:
            return None
        header, payload = (base64.b64decode(found.get(key, "")) for key in ("hdrs", "data"))
        return found["subject"], header, payload, found["seq"]

    def store(self, subject, payload, header=b""):
        """Publishes to a stream, and waits until it is stored."""
        answer = json.loads(self.request(subject, payload, header))
        if error := answer.get("error"):
            raise Refused(error["description"])
        return answer

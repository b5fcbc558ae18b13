"""The bytes that the hostile clients of attack-http send."""

import gzip
import random
import sys

LARGEST_BODY = 500 << 10
EVENT = b'{"type":"track","event":"Attack","userId":"attacker"}'



def request(path, body=b"", key=None, fields=(), length=None, method=b"POST"):
    head = [method + b" " + path + b" HTTP/1.1", b"Host: a", *fields]
    if key:
        head.append(b"Authorization: Bearer " + key.encode())
    if method == b"POST":
        head.append(b"Content-Length: %d" % (len(body) if length is None else length))
    return b"\r\n".join(head) + b"\r\n\r\n" + body


def first_bytes(kind, key, number):
    """What a connection sends at once."""
    if kind == "slow-heads":
        return b"POST /v1/track HTTP/1.1\r\nHost: a\r\nX-Slow: "
    if kind == "unfinished-heads":
        return b"POST /v1/track?" + b"x" * 7900 + b" HTTP/1.1\r\nHost: a\r\nAuthorization: " + b"x" * 8000
    if kind == "slow-bodies":
        return request(b"/v1/batch", b'{"batch":[', key, length=LARGEST_BODY)
    if kind == "unfinished-bodies":
        return request(b"/v1/batch", b'{"batch":[' + b" " * (LARGEST_BODY - 11), key, length=LARGEST_BODY)
    if kind == "unfinished-gzip":
        body = gzip.compress(b'{"batch":[' + random.randbytes(500))[:200]
        return request(b"/v1/batch", body, key, [b"Content-Encoding: gzip"], length=LARGEST_BODY)
    if kind == "idle" and number % 2:
        return request(b"/health", method=b"GET")
    return b""


def payloads(kind, key):
    """The requests of which a connection sends one after the other."""
    batch = lambda events: b'{"batch":[' + b",".join(events) + b"]}"
    zipped = [b"Content-Encoding: gzip"]
    if kind == "garbage":
        return [b"G" + random.randbytes(65535), b"POST / HTTP/1.1\r\n" + random.randbytes(8192)]
    if kind == "not-found" or kind == "pipelining-refused":
        return [request(b"/nothing", method=b"GET") * 50]
    if kind == "unauthorized":
        in_body = EVENT[:-1] + b',"writeKey":"no"}'
        return [request(b"/v1/track", EVENT, "wrong") * 20, request(b"/v1/track", in_body) * 20]
    if kind == "too-large":
        return [request(b"/v1/batch", b" " * (LARGEST_BODY + 1), key)]
    if kind == "too-many":
        return [request(b"/v1/batch", batch([b'{"a":1}'] * 2501), key)]
    if kind == "valid" or kind == "pipelining":
        return [request(b"/v1/track", EVENT, key) * 20]
    if kind == "deep":
        nested = b"[" * 200_000 + b"]" * 200_000
        return [request(b"/v1/track", EVENT[:-1] + b',"properties":{"a":' + nested + b"}}", key),
                request(b"/v1/batch", b'{"batch":' + nested + b"}", key)]
    if kind == "invalid-events":
        return [request(b"/v1/batch", batch([b'{"type":"x","messageId":"attack"}'] * 2500), key)]
    if kind == "chunks":
        body = b"".join(b"1\r\n%c\r\n" % byte for byte in b'{"batch":[' + b" " * 60_000 + EVENT + b"]}") + b"0\r\n\r\n"
        head = request(b"/v1/batch", b"", key, [b"Transfer-Encoding: chunked"]).replace(b"Content-Length: 0\r\n", b"")
        return [head + body]
    if kind == "bombs":
        return [request(b"/v1/batch", gzip.compress(b" " * 100_000_000), key, zipped)]
    if kind == "near-bombs":
        noise = random.randbytes(3300).hex().encode()
        events = [b'{"type":"x","a":"' + noise + b'"}'] + [b'{"type":"x","userId":"attacker"}'] * 2499
        body = batch(events)
        body += b" " * (LARGEST_BODY - len(body))
        small = gzip.compress(body)
        if not 70 < len(body) / len(small) < 100:
            sys.exit(f"the bomb's ratio is {len(body) / len(small)}")
        return [request(b"/v1/batch", small, key, zipped)]
    if kind == "otlp":
        json_type = [b"Content-Type: application/json"]
        text = lambda name, value: b'{"key":"%s","value":{"stringValue":"%s"}}' % (name, value)
        logs = lambda attributes, records: (
            b'{"resourceLogs":[{"resource":{"attributes":[' + b",".join(attributes) + b']},"scopeLogs":[{"logRecords":['
            + b",".join(records) + b"]}]}]}")
        bodies = [
            logs([text(b"user.id", b"u"), text(b"large", b"x" * 30_000)], [b'{"eventName":"a"}'] * 2500),
            logs([text(b"same", b"x")] * 9000, [b'{"eventName":"a"}'] * 100),
            logs([text(b"a%d" % n, b"x") for n in range(8000)], [b'{"eventName":"a"}'] * 100),
        ]
        return [request(b"/v1/logs", body, key, json_type) for body in bodies]
    sys.exit(f"unknown kind {kind}")

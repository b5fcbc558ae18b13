#!/usr/bin/env python3
"""Reads a Penstock journal. Written only from the description in Sources/Journal/Journal.docc/Format.md.

usage: read_journal.py DIRECTORY                  one line per event: position, time, source, JSON
       read_journal.py --json DIRECTORY           the same in the format of `penstock journal dump`
       read_journal.py --json DIRECTORY NAME      dead letters of the destination whose directory is NAME
       read_journal.py --cursors DIRECTORY        one line per destination: name, position, ranges settled above it
       read_journal.py --lanes DIRECTORY          one line per lane: source, name, position in hexadecimal
       read_journal.py --marks DIRECTORY          one line per mark: source, lane, origin, position, part
"""
import datetime
import json
import os
import re
import struct
import sys

TABLE = []
for byte in range(256):
    value = byte
    for _ in range(8):
        value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    TABLE.append(value)


def crc32c(*pieces):
    state = 0xFFFFFFFF
    for piece in pieces:
        for byte in piece:
            state = TABLE[(state ^ byte) & 0xFF] ^ (state >> 8)
    return state ^ 0xFFFFFFFF


def padded(length):
    return (length + 7) & ~7


def read_uuid(directory):
    data = open(os.path.join(directory, "manifest"), "rb").read()
    body, last = data[:-1].rsplit(b"\n", 1)
    assert last == b"crc32c %08x" % crc32c(body + b"\n"), "the manifest is damaged"
    fields = dict(line.split(" ", 1) for line in body.decode().split("\n") if not line.startswith("destination "))
    assert fields["penstock-journal"] == "1" and fields["incompatible"] == "0", "another format"
    return bytes.fromhex(fields["uuid"].replace("-", ""))


class Segment:
    def __init__(self, uuid, path):
        self.data = open(path, "rb").read()
        self.first = int(os.path.basename(path)[:20])
        self.seed = uuid + struct.pack("<Q", self.first)

    def header(self, offset):
        raw = self.data[offset:offset + 64]
        if len(raw) < 64 or raw[:4] != b"PNSB":
            return None
        seed = self.seed + struct.pack("<Q", offset)
        fields = struct.unpack("<4sBBHIIQQqIIiHHII", raw)
        return (fields, seed) if fields[15] == crc32c(seed, raw[:60]) and fields[1] == 1 else None

    def batches(self, stop):
        """The whole batches: (offset, fields, payload)."""
        end = len(self.data)
        seal = self.header(end - 128) if end >= 128 else None
        if seal and seal[0][2] == 3:
            end = struct.unpack_from("<Q", self.data, end - 64)[0]
        offset = 0
        while offset + 64 <= end:
            found = self.header(offset)
            if not found:
                offset += 8
                continue
            fields, seed = found
            if stop is not None and fields[6] >= stop:
                return
            payload = self.data[offset + 64:offset + 64 + fields[4]]
            if crc32c(seed, payload) == fields[14]:
                yield offset, fields, payload
            offset += 64 + padded(fields[4])


def files(directory, uuid):
    """The whole batches of all files, in order."""
    names = sorted(name for name in os.listdir(directory) if name.endswith(".seg") and len(name) == 24)
    for index, name in enumerate(names):
        stop = int(names[index + 1][:20]) if index + 1 < len(names) else None
        yield from Segment(uuid, os.path.join(directory, name)).batches(stop)


def receipt(fields, payload):
    """What an earlier host told of a batch: its name, and the times at which it received the events; none: not known."""
    if fields[3] & 5 != 5:
        return None, ()
    _, name, position = struct.unpack_from("<QII", payload, len(payload) - 16)
    end = len(payload) - 16 - padded(name + position) - (32 if fields[3] & 2 else 0)
    count, length = struct.unpack_from("<II", payload, end - 8)
    start = end - 8 - padded(length)
    return payload[start:start + length].decode(), struct.unpack_from(f"<{count}q", payload, start - 8 * count)


def events(directory):
    """The first receive time is None if it is the other one, and the host if it is not known."""
    for _, fields, payload in files(directory, read_uuid(directory)):
        if fields[2] != 1:
            continue
        source = payload[:fields[12]].decode()
        place, position = padded(fields[12]), fields[6]
        host, times = receipt(fields, payload)
        for number in range(fields[5]):
            length, kind, _, delay = struct.unpack_from("<IBBH", payload, place)
            if 1 <= kind <= 6:
                time = fields[8] + delay * 1_000_000
                first = times[number] if times else None
                yield position, time, source, fields[9:12], payload[place + 40:place + 40 + length], host, first
            place += 40 + padded(length)
            position += 1


def dead_letters(directory, name):
    for _, fields, payload in files(os.path.join(directory, "dead-letters", name), read_uuid(directory)):
        place = 0
        for _ in range(fields[5] if fields[2] == 2 else 0):
            attempts, size, position, time, *lengths = struct.unpack_from("<IIQqHHH", payload, place)
            start, parts = place + 40, []
            for length in [*lengths, size]:
                parts.append(payload[start:start + length].decode())
                start += length
            yield position, time, attempts, *parts
            place = padded(start - place) + place


def cursor_file(directory, uuid):
    """The position and state of each destination from the newer whole slot, and the recorded durable end."""
    data = open(os.path.join(directory, "cursors"), "rb").read()
    half, newest = len(data) // 2, (-1, {}, 0)
    for slot in range(2):
        raw = data[slot * half:(slot + 1) * half]
        magic, version, _, generation, length, count, _, checksum = struct.unpack_from("<4sHHQIIII", raw)
        payload = raw[32:32 + length]
        if magic != b"PNSC" or version != 1 or checksum != crc32c(uuid, struct.pack("<Q", slot), raw[:28], payload):
            continue
        place, cursors = 0, {}
        for _ in range(count):
            position, name, state = struct.unpack_from("<QHH", payload, place)
            place += 12 + name + state
            cursors[payload[place - name - state:place - state].decode()] = (position, payload[place - state:place])
        newest = max(newest, (generation, cursors, struct.unpack_from("<Q", payload, place)[0]), key=lambda one: one[0])
    return newest[1], newest[2]


def live_entries(data):
    """The (destination's number, kind, tag, position, ranges) of each entry."""
    place = 0
    while place + 32 <= len(data):
        kind, count, _, number, tag, position = struct.unpack_from("<HHIQQQ", data, place)
        ranges, end = [], position
        for index in range(count):
            distance, length = struct.unpack_from("<II", data, place + 32 + 8 * index)
            ranges.append((end + distance, end + distance + length))
            end += distance + length
        yield number, kind, tag, position, ranges
        place += 32 + 8 * count


def live_cursors(directory, uuid):
    """All entries of `cursors.live.N` and of the last segment, and the position of the next event."""
    found, end = [], 0
    for _, fields, payload in files(directory, uuid):
        end = fields[6] + fields[5]
        if fields[2] == 4:
            found += live_entries(payload)
    numbers = [0] if os.path.exists(os.path.join(directory, "cursors.live")) else []
    numbers += [int(m[1]) for m in (re.fullmatch(r"cursors\.live\.([1-9]\d*)", n) for n in os.listdir(directory)) if m]
    last = max(numbers, default=None)
    name = f"cursors.live.{last}" if last else "cursors.live"
    data = open(os.path.join(directory, name), "rb").read() if numbers else b""
    salt = struct.pack("<Q", last) if last else b""
    for slot in range(len(data) // 1024):
        raw = data[slot * 1024:(slot + 1) * 1024]
        magic, checksum, version, _, length = struct.unpack_from("<4sIHHI", raw)
        covered = raw[8:16 + length]
        if magic == b"PNSL" and version == 1 and checksum == crc32c(uuid, salt, struct.pack("<Q", slot), covered):
            found += live_entries(covered[8:])
    return found, end


def cursors(directory):
    """The point where each destination continues: (name, position, ranges)."""
    uuid = read_uuid(directory)
    kept, durable = cursor_file(directory, uuid)
    live, end = live_cursors(directory, uuid)
    end = max(end, durable)
    for name, (position, state) in sorted(kept.items()):
        if name.endswith("\nunverified"):
            continue
        number = crc32c(name.encode()) | crc32c(name.encode()[::-1]) << 32
        ranges = []
        for other, kind, _, place, settled in live:
            if other == number and kind == 1 and not state and position <= place <= end:
                position, ranges = place, settled
        yield name, position, ranges


def lanes(directory):
    """The position of each lane: ((source, name), position). Reads all segments, so the chain is known."""
    known = {}
    for _, fields, payload in files(directory, read_uuid(directory)):
        if fields[2] == 5:
            known, place = {}, 0
            while place + 16 <= len(payload):
                end, source, name, position = struct.unpack_from("<QHHH", payload, place)
                texts = payload[place + 16:place + 16 + source + name + position]
                known[texts[:source].decode(), texts[source:source + name].decode()] = (end, texts[source + name:])
                place += padded(16 + source + name + position)
        elif fields[2] == 1 and fields[3] & 1:
            previous, name, position = struct.unpack_from("<QII", payload, len(payload) - 16)
            start = len(payload) - 16 - padded(name + position)
            key = payload[:fields[12]].decode(), payload[start:start + name].decode()
            if previous == known.get(key, (0, b""))[0] or previous <= fields[7]:
                known[key] = fields[6] + fields[5], payload[start + name:start + name + position]
    return sorted((key, position) for key, (_, position) in known.items() if position)


def marks(directory):
    """The mark of each lane and origin: ((source, lane, origin), (position, part)). Ignores the chain of lanes."""
    known = {}
    for _, fields, payload in files(directory, read_uuid(directory)):
        if fields[2] == 6:
            known, place = {}, 0
            while place + 8 <= len(payload):
                count, source, name = struct.unpack_from("<IHH", payload, place)
                texts = payload[place + 8:place + 8 + source + name].decode()
                place += 8 + padded(source + name)
                for _ in range(count):
                    high, low, position, _, part = struct.unpack_from("<QQQQI", payload, place)
                    known[texts[:source], texts[source:], f"{high:016x}{low:016x}"] = (position, part)
                    place += 40
        elif fields[2] == 1 and fields[3] & 2:
            _, name, position = struct.unpack_from("<QII", payload, len(payload) - 16)
            start = len(payload) - 16 - padded(name + position)
            high, low, *mark = struct.unpack_from("<QQQI", payload, start - 32)
            key = payload[:fields[12]].decode(), payload[start:start + name].decode(), f"{high:016x}{low:016x}"
            known[key] = max(known.get(key, (0, 0)), tuple(mark))
    return sorted(known.items())


def rfc3339(time):
    seconds, rest = divmod(time, 1_000_000_000)
    digits, unit = next((d, 10 ** (9 - d)) for d in (3, 6, 9) if rest % 10 ** (9 - d) == 0)
    text = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{rest // unit:0{digits}d}Z"


def main(arguments):
    if arguments[0] == "--cursors":
        for name, position, ranges in cursors(arguments[1]):
            print(name, position, *(f"{first}-{end}" for first, end in ranges))
    elif arguments[0] == "--lanes":
        for (source, name), position in lanes(arguments[1]):
            print(source, name, position.hex())
    elif arguments[0] == "--marks":
        for key, mark in marks(arguments[1]):
            print(*key, *mark)
    elif arguments[0] != "--json":
        for position, time, source, _, event, *_ in events(arguments[0]):
            print(position, time, source, event.decode())
    elif len(arguments) == 2:
        for position, time, source, peer, event, host, first in events(arguments[1]):
            peer = dict(zip(("uid", "gid", "pid"), peer))
            earlier = {"host": host} if host else {}
            if first is not None and first != time:
                earlier["first_received_at"] = rfc3339(first)
            print(json.dumps({"position": position, "received_at": rfc3339(time), "source": source, **earlier,
                              "peer": peer, "event": json.loads(event)}))
    else:
        for position, time, attempts, message, reason, answer, event in dead_letters(*arguments[1:]):
            print(json.dumps({"position": position, "time": rfc3339(time), "attempts": attempts, "messageId": message,
                              "reason": reason, "answer": answer, "event": json.loads(event)}))


if __name__ == "__main__":
    main(sys.argv[1:])

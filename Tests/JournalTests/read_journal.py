#!/usr/bin/env python3
"""Reads a Penstock journal, by the description in Sources/Journal/Journal.swift and nothing else.

usage: read_journal.py DIRECTORY        prints one line an event: position, time, source, JSON
"""
import os
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
        """Whole batches: (offset, fields, payload)."""
        end = len(self.data) - 128
        seal = self.header(end)
        if seal and seal[0][2] == 3:
            end = struct.unpack_from("<Q", self.data, end + 64)[0]
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


def events(directory):
    uuid = read_uuid(directory)
    names = sorted(name for name in os.listdir(directory) if name.endswith(".seg") and len(name) == 24)
    for index, name in enumerate(names):
        stop = int(names[index + 1][:20]) if index + 1 < len(names) else None
        for _, fields, payload in Segment(uuid, os.path.join(directory, name)).batches(stop):
            if fields[2] != 1:
                continue
            source = payload[:fields[12]].decode()
            place, position = padded(fields[12]), fields[6]
            for _ in range(fields[5]):
                length, kind, _, delay = struct.unpack_from("<IBBH", payload, place)
                if 1 <= kind <= 6:
                    yield position, fields[8] + delay * 1_000_000, source, payload[place + 40:place + 40 + length]
                place += 40 + padded(length)
                position += 1


if __name__ == "__main__":
    for position, time, source, json in events(sys.argv[1]):
        print(position, time, source, json.decode())

"""Makes a small PNG file of a screenshot: one byte per pixel, and at most 256 colours (PNG specification).

A page has few colours: areas, and the edges of letters between two of them. Areas keep their exact colours.
"""

import collections
import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_COLOURS = 256
# A colour of so many pixels is an area, such as a step of a shadow.
AREA = 400


def pixels(png):
    """The width, and the rows of a PNG file with 8 bits per channel, as bytes of red, green and blue."""
    place, data, channels = len(SIGNATURE), b"", 3
    while place < len(png):
        length, kind = struct.unpack(">I4s", png[place:place + 8])
        body = png[place + 8:place + 8 + length]
        place += length + 12
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", body)
            if depth != 8 or colour not in (2, 6) or interlace:
                raise ValueError("not a PNG file with 8 bits per channel")
            channels = 3 if colour == 2 else 4
        elif kind == b"IDAT":
            data += body
    data = zlib.decompress(data)
    stride = width * channels
    rows, above = [], bytearray(stride)
    for number in range(height):
        start = number * (stride + 1)
        row = unfiltered(data[start], bytearray(data[start + 1:start + 1 + stride]), above, channels)
        above = row
        rows.append(bytes(row) if channels == 3 else b"".join(row[i:i + 3] for i in range(0, stride, 4)))
    return width, rows


def unfiltered(kind, row, above, channels):
    if kind == 1:
        for i in range(channels, len(row)):
            row[i] = row[i] + row[i - channels] & 255
    elif kind == 2:
        for i, up in enumerate(above):
            row[i] = row[i] + up & 255
    elif kind == 3:
        for i, up in enumerate(above):
            left = row[i - channels] if i >= channels else 0
            row[i] = row[i] + (left + up) // 2 & 255
    elif kind == 4:
        for i, up in enumerate(above):
            left, corner = (row[i - channels], above[i - channels]) if i >= channels else (0, 0)
            guess = left + up - corner
            a, b, c = abs(guess - left), abs(guess - up), abs(guess - corner)
            row[i] = row[i] + (left if a <= b and a <= c else up if b <= c else corner) & 255
    return row


def palette(counts):
    """The palette, and the place of each colour in it. A rare colour takes the place of a frequent one that is near."""
    distance = 0
    while True:
        chosen, places = [], {}
        for colour, count in counts.most_common():
            near = nearest(colour, chosen)
            if near is not None and near[0] <= distance and (count < AREA or len(chosen) > MOST_COLOURS // 2):
                places[colour] = near[1]
            elif len(chosen) == MOST_COLOURS:
                break
            else:
                places[colour] = len(chosen)
                chosen.append(colour)
        if len(places) == len(counts):
            return chosen, places
        distance = distance * 2 or 8


def nearest(colour, chosen):
    r, g, b = colour
    return min((((r - one[0]) ** 2 + (g - one[1]) ** 2 + (b - one[2]) ** 2, place) for place, one in enumerate(chosen)),
               default=None)


def smaller(png):
    width, rows = pixels(png)
    rows = [[row[i:i + 3] for i in range(0, len(row), 3)] for row in rows]
    colours, places = palette(collections.Counter(colour for row in rows for colour in row))
    lines = b"".join(b"\0" + bytes(places[colour] for colour in row) for row in rows)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    return (SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", width, len(rows), 8, 3, 0, 0, 0))
            + chunk(b"PLTE", b"".join(colours)) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b""))

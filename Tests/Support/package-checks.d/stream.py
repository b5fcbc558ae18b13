"""Sends events without pause, with acknowledgements, and connects again when the daemon ends the connection.

    stream.py SOCKET END

Ends when the file END exists and everything is settled. Prints the number of each acknowledged event. An event that was
not acknowledged is not sent again, so each may be stored once at most.
"""

import json
import os
import select
import socket
import sys
import time

path, end = sys.argv[1:]
number = 0
ended = 0
refused, details = set(), set()
while not os.path.exists(end):
    daemon = socket.socket(socket.AF_UNIX)
    daemon.connect(path)
    try:
        daemon.sendall(b'{"penstock":{"acks":true}}\n')
    except OSError:
        # The daemon ended it at once, because it stops.
        ended += 1
        continue
    first, settled, answers, is_open = number + 1, 0, b"", True
    while is_open:
        finished = os.path.exists(end)
        if finished and first + settled > number:
            break
        # About 2,000 events a second.
        if not finished:
            lines = b""
            for _ in range(20):
                number += 1
                lines += b'{"type":"track","event":"Checked","userId":"u1","properties":{"number":9%08d}}\n' % number
            try:
                daemon.sendall(lines)
            except OSError:
                is_open = False
        until = time.monotonic() + 0.01
        while (left := until - time.monotonic()) > 0 or not is_open:
            if is_open and not select.select([daemon], [], [], left)[0]:
                break
            # After the daemon has ended the connection, its last answers are still there.
            try:
                received = daemon.recv(65536)
            except OSError:
                received = b""
            if not received:
                is_open = False
                break
            *whole, answers = (answers + received).split(b"\n")
            for line in whole:
                answer = json.loads(line)
                if "refused" in answer:
                    # A daemon that stops refuses what it can no longer store. The acknowledgement covers it, too.
                    refused.add(first - 1 + answer["refused"]["line"])
                    details.add(answer["refused"]["detail"])
                    continue
                for event in range(first + settled, first + answer["ack"]):
                    if event not in refused:
                        print(f"9{event:08}")
                settled = answer["ack"]
            sys.stdout.flush()
    if not is_open:
        ended += 1
because = f" ({'; '.join(sorted(details))})" if details else ""
print(
    f"{ended} connection{'' if ended == 1 else 's'} ended by the daemon, {len(refused)} refused{because}",
    file=sys.stderr,
)

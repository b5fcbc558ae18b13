"""A small HTTP service that accepts events as a warehouse's or a vendor's endpoint does.

usage: receiver.py PORT DIRECTORY

Writes each request's line and headers to DIRECTORY/requests.txt, and its body, as NDJSON, to
DIRECTORY/received.ndjson. Answers 200 to every POST.
"""

import gzip
import http.server
import pathlib
import sys


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(directory / "requests.txt", "ab") as requests:
            requests.write(f"{self.requestline}\n{self.headers}".encode())
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        with open(directory / "received.ndjson", "ab") as received:
            received.write(body)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


directory = pathlib.Path(sys.argv[2])
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
(directory / "receiver.ready").touch()
try:
    server.serve_forever()
except KeyboardInterrupt:
    pass

"""The shop that the pictures of the page show: its configuration, its services and its events."""

import base64
import http.client
import http.server
import json
import math
import os
import random
import socket
import threading
import time

CONFIGURATION = """\
# The shop's analytics.
sources:
  apps: { socket: /run/penstock/events.sock, max_event_size: 64KiB }
  web: { http: 127.0.0.1:8377, write_keys: [!secret web_key] }
journal: { directory: /var/lib/penstock/journal }
secrets: { directory: /var/lib/penstock/secrets }
control: { socket: /run/penstock/control.sock, page: 127.0.0.1:9378 }

pipeline:
  - hash: { paths: [context.ip], key: !secret ip_key }

routes:
  - name: everything
    to: [archive]
  - name: product analytics
    where: type = "track" and event != "Heartbeat"
    transforms:
      - drop: [properties.debug]
    to: [analytics]
  - name: orders
    where: event in ["Order Completed", "Order Refunded"]
    to: [crm, mail]

destinations:
  archive: { file: /var/lib/penstock/archive/%Y-%m-%d.ndjson }
  analytics:
    http: http://analytics.example/v1/import
    headers: { Authorization: "Bearer {{ secret.analytics }}" }
    batch: { wait: 500ms }
  crm:
    http: http://crm.example/v2/orders
    headers: { Authorization: "Bearer {{ secret.crm }}" }
    format: single
    batch: { wait: 0s }
    mapping:
      order: $.properties.order_id
      customer: $.userId
      total: $.properties.total
      currency: $.properties.currency
  mail:
    http: http://mail.example/v1/messages
    batch: { wait: 1s }
    retry: { max: 15s }
"""
SECRETS = ["web_key", "ip_key", "analytics", "crm"]
# Where `mail` begins to fail, and how often, in seconds.
OUTAGE, PERIOD = 58, 80


class Services(http.server.ThreadingHTTPServer):
    """The services of the shop: one takes all events, one rejects some orders, one is down from time to time."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 80), Service)
        self.began = time.monotonic()
        self.is_down = False
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        host = self.headers["Host"].split(".")[0]
        status, answer = 200, {"status": "ok"}
        if host == "analytics":
            time.sleep(random.uniform(0.03, 0.12))
        elif host == "mail" and (
                self.server.is_down or (time.monotonic() - self.server.began) % PERIOD > OUTAGE):
            status, answer = 503, {"error": "maintenance"}
        elif host == "crm":
            order = json.loads(body)
            if order["currency"] == "EURO":
                status, answer = 422, {"error": 'unknown currency "EURO"'}
            elif order["customer"].endswith("00"):
                status, answer = 404, {"error": f"no customer {order['customer']}"}
        answer = json.dumps(answer, separators=(",", ":")).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments):
        pass


class Shop(threading.Thread):
    """Sends the events of a shop until it is stopped: most over the socket, some over HTTP, a few with a fault."""

    KINDS = {
        "Product Viewed": 40, "Home": 12, "Product": 10, "Search Performed": 10, "Product Added": 11,
        "Checkout Started": 5, "Order Completed": 4.5, "Order Refunded": 0.6, "Heartbeat": 5, "Signed Up": 1.5,
    }
    GOODS = [("Wool blanket", 64.0), ("Enamel mug", 12.5), ("Oak stool", 89.0), ("Linen shirt", 49.9),
             ("Desk lamp", 74.0), ("Tea pot", 38.5)]

    def __init__(self, path):
        super().__init__(daemon=True)
        self.random, self.stopping = random.Random(7), threading.Event()
        self.number = 48_000
        self.socket = socket.socket(socket.AF_UNIX)
        # The clients of the shop are not root's. In a user namespace there is no other user.
        try:
            os.seteuid(33)
        except OSError:
            pass
        self.socket.connect(path)
        os.seteuid(0)
        self.start()

    def event(self):
        chance = self.random
        name = chance.choices(list(self.KINDS), self.KINDS.values())[0]
        product, price = chance.choice(self.GOODS)
        properties = {"product": product, "price": price}
        if name.startswith("Order"):
            self.number += 1
            properties = {
                "order_id": f"ord-{self.number}", "total": round(price * chance.randint(1, 4), 2),
                "currency": "EURO" if chance.random() < 0.04 else chance.choice(["EUR", "USD", "GBP"]),
                "coupon": chance.choice([None, "AUTUMN"]),
            }
        elif name == "Search Performed":
            properties = {"query": product.lower().split()[1], "results": chance.randint(0, 40)}
        kind = {"Home": "page", "Product": "page", "Signed Up": "identify"}.get(name, "track")
        event = {"type": kind}
        if kind != "identify":
            event["event" if kind == "track" else "name"] = name
        user = f"u-{chance.randint(1000, 1999)}"
        if chance.random() < 0.75 or name.startswith("Order") or kind == "identify":
            event["userId"] = user
        else:
            event["anonymousId"] = f"a-{user[2:]}"
        event["messageId"] = f"{chance.getrandbits(48):012x}"
        event["traits" if kind == "identify" else "properties"] = (
            {"plan": chance.choice(["free", "plus"])} if kind == "identify" else properties)
        event["context"] = {
            "ip": f"203.0.113.{chance.randint(1, 254)}", "app": {"name": "shop", "version": "4.1.0"}, "locale": "en-GB",
        }
        return event

    def run(self):
        began, sent, web, posted = time.monotonic(), 0.0, [], 0.0
        connection = http.client.HTTPConnection("127.0.0.1", 8377)
        fields = {"Authorization": "Basic " + base64.b64encode(b"key of web_key:").decode()}
        while not self.stopping.wait(0.03):
            now = time.monotonic() - began
            lines = []
            while sent < now:
                sent += 1 / (130 + 55 * math.sin(now / 11) + self.random.uniform(-25, 25))
                event = self.event()
                if "anonymousId" in event:
                    web.append(event)
                else:
                    lines.append(json.dumps(event))
                if self.random.random() < 0.004:
                    lines.append(self.random.choice(['{"type":"track","event":', '{"type":"track"}', "x" * 70_000]))
            if lines:
                self.socket.sendall("\n".join(lines).encode() + b"\n")
            if web and now - posted > 0.4:
                connection.request("POST", "/v1/batch", json.dumps({"batch": web}), fields)
                answer = connection.getresponse()
                if answer.status != 200:
                    raise SystemExit(f"web: {answer.status} {answer.read()}")
                answer.read()
                web, posted = [], now

    def stop(self):
        self.stopping.set()
        self.join()

#!/usr/bin/env python3
"""Sends events with an SDK for Python: Segment's (PyPI: segment-analytics-python) or RudderStack's (rudder-sdk-python),
which has the same calls.

The host is a base address such as http://127.0.0.1:8377; the SDK adds /v1/batch. With a COUNT of 1, the six calls of
the API are sent once each. The last line of the output is a JSON object with the number of messages that were queued,
and the errors that the SDK reported. The exit status is 0 if there are none, else 1.
"""
import argparse
import importlib
import json
import sys


def send_all(client, number):
    """Makes each call once. Returns the number of messages that the SDK queued."""
    user = f"user-{number}"
    context = {"ip": "203.0.113.7", "app": {"name": "shop"}}
    sent = [
        client.identify(user, {"email": f"{user}@example.org", "plan": "pro"}),
        client.track(user, "Order Completed", {"total": 12.5, "number": number, "note": "Grüße \"x\"\n"}, context=context),
        client.page(user, "Docs", "Home", {"url": "https://example.org/?a=1&b=2"}),
        client.screen(anonymous_id=f"anonymous-{number}", name="Cart"),
        client.group(user, "group-1", {"employees": 7}, integrations={"All": False}),
        client.alias(f"anonymous-{number}", user),
    ]
    return sum(1 for is_queued, _ in sent if is_queued)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("sdk", choices=["segment", "rudderstack"])
    arguments.add_argument("host")
    arguments.add_argument("write_key")
    arguments.add_argument("count", type=int)
    arguments.add_argument("--gzip", action="store_true")
    arguments.add_argument("--retries", type=int, default=10)
    options = arguments.parse_args()

    errors = []
    client = importlib.import_module(f"{options.sdk}.analytics.client").Client(
        options.write_key, host=options.host, gzip=options.gzip, max_retries=options.retries, max_queue_size=100_000,
        upload_interval=0.05, timeout=10,
        on_error=lambda error, batch: errors.append({"error": str(error), "status": getattr(error, "status", None),
                                                     "messages": len(batch)}))
    queued = sum(send_all(client, number) for number in range(options.count))
    client.flush()
    client.join()
    print(json.dumps({"queued": queued, "errors": errors}))
    return 0 if not errors and queued == 6 * options.count else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Sends events with OpenTelemetry's SDK and its OTLP/HTTP exporter.

    otlp_events.py ENDPOINT WRITE_KEY COUNT

ENDPOINT is the whole URL, such as http://127.0.0.1:8377/v1/logs. Exits with 0 if the exporter reported success for
every batch, and with 1 otherwise. A partial success is a success for the exporter.

Needs the packages opentelemetry-sdk and opentelemetry-exporter-otlp-proto-http.
"""

import base64
import sys

from opentelemetry._logs import SeverityNumber
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource


class Watched:
    """An exporter that remembers the results of another one."""

    def __init__(self, exporter):
        self.exporter = exporter
        self.exported = 0
        self.failed = 0

    def export(self, batch):
        result = self.exporter.export(batch)
        if result.name == "SUCCESS":
            self.exported += len(batch)
        else:
            self.failed += len(batch)
        return result

    def force_flush(self, timeout_millis=10_000):
        return self.exporter.force_flush(timeout_millis)

    def shutdown(self):
        self.exporter.shutdown()


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: otlp_events.py ENDPOINT WRITE_KEY COUNT")
    endpoint, write_key, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    credentials = base64.b64encode(f"{write_key}:".encode()).decode()
    exporter = Watched(
        OTLPLogExporter(
            endpoint=endpoint,
            headers={"Authorization": f"Basic {credentials}"},
            timeout=60,
            compression=Compression.Gzip,
        )
    )
    provider = LoggerProvider(
        resource=Resource.create(
            {"service.name": "otlp-events", "service.version": "1.0", "service.instance.id": "otlp-events-1"}
        ),
        shutdown_on_exit=False,
    )
    # The queue holds all events, so that none is dropped before it was exported.
    provider.add_log_record_processor(
        BatchLogRecordProcessor(exporter, max_queue_size=count + 1, max_export_batch_size=min(500, count + 1))
    )
    logger = provider.get_logger("otlp_events", "1.0")
    for index in range(count):
        logger.emit(
            event_name="Order Completed",
            severity_number=SeverityNumber.INFO,
            attributes={
                "log.record.uid": f"otlp-{index}",
                "user.id": f"u{index}",
                "total": 19.9,
                "items": index,
                "gift": True,
                "tags": ["a", "b"],
            },
        )
    flushed = provider.force_flush(60_000)
    provider.shutdown()
    print(f"{exporter.exported} of {count} events were exported, {exporter.failed} failed")
    sys.exit(0 if flushed and exporter.exported == count else 1)


if __name__ == "__main__":
    main()

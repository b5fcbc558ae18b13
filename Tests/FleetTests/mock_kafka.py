"""A mock broker of librdkafka in a process of its own: it speaks Kafka's protocol, and keeps little of what it gets."""

import ctypes
import ctypes.util
import sys

TOPIC, PARTITIONS = "events", 16


def library():
    found = ctypes.CDLL(ctypes.util.find_library("rdkafka"))
    for name in ("conf_new", "new", "mock_cluster_new", "mock_cluster_bootstraps"):
        getattr(found, f"rd_kafka_{name}").restype = ctypes.c_void_p
    found.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    return found


def serve():
    """Runs a mock broker. Prints its address, and then, for each line that is read, the number of its messages."""
    kafka = library()

    def client(kind, broker=None):
        configuration = ctypes.c_void_p(kafka.rd_kafka_conf_new())
        if broker:
            kafka.rd_kafka_conf_set(configuration, b"bootstrap.servers", broker, None, 0)
        return ctypes.c_void_p(kafka.rd_kafka_new(kind, configuration, ctypes.create_string_buffer(512), 512))

    cluster = ctypes.c_void_p(kafka.rd_kafka_mock_cluster_new(client(0), 1))
    kafka.rd_kafka_mock_topic_create(cluster, TOPIC.encode(), PARTITIONS, 1)
    broker = kafka.rd_kafka_mock_cluster_bootstraps(cluster)
    print(broker.decode(), flush=True)
    reader = client(1, broker)
    low, high = ctypes.c_int64(), ctypes.c_int64()
    for _ in sys.stdin:
        total = 0
        for partition in range(PARTITIONS):
            kafka.rd_kafka_query_watermark_offsets(
                reader, TOPIC.encode(), partition, ctypes.byref(low), ctypes.byref(high), 5000)
            total += high.value
        print(total, flush=True)


if __name__ == "__main__":
    serve()

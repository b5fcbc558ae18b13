#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

/* rd_kafka_producev, which Swift cannot call. The key and the value are copied. If it returns
 * RD_KAFKA_RESP_ERR_NO_ERROR, librdkafka owns the headers. */
static inline rd_kafka_resp_err_t ckafka_produce(rd_kafka_t *producer, const char *topic, int32_t partition,
                                                 const void *key, size_t key_size, const void *value, size_t size,
                                                 rd_kafka_headers_t *headers, void *opaque) {
    return rd_kafka_producev(producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
                             RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                             RD_KAFKA_V_KEY((void *)key, key_size), RD_KAFKA_V_VALUE((void *)value, size),
                             RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(opaque), RD_KAFKA_V_END);
}

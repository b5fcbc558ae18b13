/* Asserts the layout of the plugin interface: if a field moves, this file fails to compile, and no installed plugin
 * breaks. Within a major version a struct may grow at its end; then only its size changes here. */
#include "penstock_plugin.h"

#define AT(type, field, offset) \
    _Static_assert(offsetof(type, field) == (offset), #type "." #field " has moved: this requires a new major version")
#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type " has another size")

_Static_assert(sizeof(void *) == 8, "the layout is for 64-bit machines");

SIZE(penstock_string, 16);
AT(penstock_string, data, 0);
AT(penstock_string, length, 8);

SIZE(penstock_field, 16);
AT(penstock_field, name, 0);
AT(penstock_field, value, 8);

SIZE(penstock_event, 80);
AT(penstock_event, position, 0);
AT(penstock_event, received_at_ns, 8);
AT(penstock_event, message_id, 16);
AT(penstock_event, payload, 32);
AT(penstock_event, kind, 48);
AT(penstock_event, attempt, 52);
AT(penstock_event, part, 56);
AT(penstock_event, user, 64);

SIZE(penstock_batch, 56);
AT(penstock_batch, struct_size, 0);
AT(penstock_batch, count, 4);
AT(penstock_batch, token, 8);
AT(penstock_batch, deadline_ns, 16);
AT(penstock_batch, first_position, 24);
AT(penstock_batch, last_position, 32);
AT(penstock_batch, events, 40);
AT(penstock_batch, event_stride, 48);
AT(penstock_batch, flags, 52);

SIZE(penstock_outcome, 16);
AT(penstock_outcome, status, 0);
AT(penstock_outcome, retry_after_ms, 4);
AT(penstock_outcome, reason, 8);

SIZE(penstock_host, 88);
AT(penstock_host, struct_size, 0);
AT(penstock_host, reserved, 4);
AT(penstock_host, context, 8);
AT(penstock_host, destination, 16);
AT(penstock_host, journal, 24);
AT(penstock_host, complete, 32);
AT(penstock_host, ready, 40);
AT(penstock_host, log_enabled, 48);
AT(penstock_host, log, 56);
AT(penstock_host, counter_add, 64);
AT(penstock_host, gauge_set, 72);
AT(penstock_host, extension, 80);

SIZE(penstock_instance, 80);
AT(penstock_instance, struct_size, 0);
AT(penstock_instance, max_in_flight, 4);
AT(penstock_instance, max_batch_events, 8);
AT(penstock_instance, reserved, 12);
AT(penstock_instance, max_batch_bytes, 16);
AT(penstock_instance, context, 24);
AT(penstock_instance, connect, 32);
AT(penstock_instance, deliver, 40);
AT(penstock_instance, flush, 48);
AT(penstock_instance, stop, 56);
AT(penstock_instance, destroy, 64);
AT(penstock_instance, extension, 72);

SIZE(penstock_plugin, 64);
AT(penstock_plugin, struct_size, 0);
AT(penstock_plugin, abi_major, 4);
AT(penstock_plugin, abi_minor, 6);
AT(penstock_plugin, name, 8);
AT(penstock_plugin, version, 16);
AT(penstock_plugin, summary, 24);
AT(penstock_plugin, settings_schema, 32);
AT(penstock_plugin, create, 40);
AT(penstock_plugin, needs, 48);
AT(penstock_plugin, extension, 56);

SIZE(penstock_position, 16);
AT(penstock_position, struct_size, 0);
AT(penstock_position, reserved, 4);
AT(penstock_position, durable, 8);

SIZE(penstock_lane, 32);
AT(penstock_lane, name, 0);
AT(penstock_lane, position, 16);

SIZE(penstock_place, 16);
AT(penstock_place, position, 0);
AT(penstock_place, part, 8);
AT(penstock_place, reserved, 12);

SIZE(penstock_offer, 104);
AT(penstock_offer, struct_size, 0);
AT(penstock_offer, count, 4);
AT(penstock_offer, token, 8);
AT(penstock_offer, lane, 16);
AT(penstock_offer, events, 48);
AT(penstock_offer, origin, 56);
AT(penstock_offer, places, 72);
AT(penstock_offer, host, 80);
AT(penstock_offer, received_at_ns, 96);

SIZE(penstock_refusal, 24);
AT(penstock_refusal, index, 0);
AT(penstock_refusal, reserved, 4);
AT(penstock_refusal, reason, 8);

SIZE(penstock_durable, 64);
AT(penstock_durable, struct_size, 0);
AT(penstock_durable, refusal_count, 4);
AT(penstock_durable, token, 8);
AT(penstock_durable, lane, 16);
AT(penstock_durable, refusals, 48);
AT(penstock_durable, refusal_stride, 56);
AT(penstock_durable, reserved, 60);

SIZE(penstock_source_host, 64);
AT(penstock_source_host, struct_size, 0);
AT(penstock_source_host, max_offer_events, 4);
AT(penstock_source_host, max_offer_bytes, 8);
AT(penstock_source_host, offer, 16);
AT(penstock_source_host, lane_opened, 24);
AT(penstock_source_host, lane_closed, 32);
AT(penstock_source_host, problem, 40);
AT(penstock_source_host, fail, 48);
AT(penstock_source_host, lane_until, 56);

SIZE(penstock_source_instance, 72);
AT(penstock_source_instance, struct_size, 0);
AT(penstock_source_instance, reserved, 4);
AT(penstock_source_instance, context, 8);
AT(penstock_source_instance, connect, 16);
AT(penstock_source_instance, start, 24);
AT(penstock_source_instance, ready, 32);
AT(penstock_source_instance, durable, 40);
AT(penstock_source_instance, stop, 48);
AT(penstock_source_instance, destroy, 56);
AT(penstock_source_instance, extension, 64);

SIZE(penstock_source, 32);
AT(penstock_source, struct_size, 0);
AT(penstock_source, reserved, 4);
AT(penstock_source, settings_schema, 8);
AT(penstock_source, needs, 16);
AT(penstock_source, create, 24);

/* A thin C interface to events as bytes: validate and index lines, fetch a set of paths from one
 * event. To validate, simdjson (Debian's libsimdjson) finds the structurals and checks UTF-8,
 * dispatched at run time to the machine's best instruction set; the grammar is checked here (see
 * Parser.hpp). To fetch from what was validated before takes much less (see Fetch.cpp).
 *
 * A parser belongs to one thread at a time. Nothing here keeps a pointer to the caller's bytes
 * after it has returned, and nothing throws. */
#ifndef CSIMDJSON_H
#define CSIMDJSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psj_parser psj_parser;

/* A parser for documents up to max_bytes long (5 bytes of memory for each) and max_depth deep, the
 * outermost object counted as 1; NULL without memory, or if either is 0. */
psj_parser *psj_parser_create(size_t max_bytes, size_t max_depth);
void psj_parser_destroy(psj_parser *parser);

/* Content of a string without its quotes; offset UINT32_MAX: absent. */
typedef struct {
    uint32_t offset;
    uint32_t length;
} psj_slice;

enum psj_kind {
    PSJ_KIND_NONE = 0,
    PSJ_TRACK = 1,
    PSJ_IDENTIFY = 2,
    PSJ_PAGE = 3,
    PSJ_SCREEN = 4,
    PSJ_GROUP = 5,
    PSJ_ALIAS = 6
};

enum psj_flag {
    PSJ_EVENT_ESCAPED = 1 << 0,
    PSJ_MESSAGE_ID_ESCAPED = 1 << 1,
    PSJ_USER_ID_ESCAPED = 1 << 2,
    PSJ_ANONYMOUS_ID_ESCAPED = 1 << 3,
    PSJ_HAS_INTEGRATIONS = 1 << 4,
    PSJ_HAS_OTHER_VALUES = 1 << 5
};

/* The fields that the door looks at. */
enum psj_field {
    PSJ_FIELD_NONE = 0,
    PSJ_FIELD_TYPE,
    PSJ_FIELD_EVENT,
    PSJ_FIELD_USER_ID,
    PSJ_FIELD_ANONYMOUS_ID,
    PSJ_FIELD_PREVIOUS_ID,
    PSJ_FIELD_GROUP_ID,
    PSJ_FIELD_MESSAGE_ID,
    PSJ_FIELD_PROPERTIES,
    PSJ_FIELD_TRAITS,
    PSJ_FIELD_CONTEXT,
    PSJ_FIELD_NAME,
    PSJ_FIELD_TIMESTAMP,
    PSJ_FIELD_SENT_AT,
    PSJ_FIELD_INTEGRATIONS,
    PSJ_FIELD_COUNT
};

/* What was wrong with a line. The order is that of the checks: the JSON as a whole first, then
 * what decides which event this is, then who did it, then the rest. A field that is null counts
 * as absent. */
enum psj_verdict {
    PSJ_OK = 0,
    PSJ_TOO_LARGE,
    PSJ_INVALID_UTF8,
    PSJ_UNCLOSED_STRING,
    PSJ_CONTROL_CHARACTER, /* below U+0020, raw, inside a string */
    PSJ_INVALID_JSON,      /* fault: where the grammar was left */
    PSJ_TOO_DEEP,
    PSJ_INVALID_ESCAPE,    /* fault: where its backslash is */
    /* Half of a surrogate pair (\ud83d alone). RFC 8259 section 8.2 calls what receivers make of
     * it unpredictable: many refuse the whole batch that it came in. So it stops here. */
    PSJ_LONE_SURROGATE,
    PSJ_NOT_AN_OBJECT,
    PSJ_UNKNOWN_TYPE,
    PSJ_EVENT_NOT_DEFINED,
    PSJ_EVENT_NOT_STRING,
    PSJ_GROUP_ID_NOT_DEFINED,
    PSJ_ALIAS_IDS_NOT_DEFINED,
    PSJ_ID_NOT_STRING,
    PSJ_NO_USER_ANON_ID,
    PSJ_MESSAGE_ID_TOO_LONG, /* more than PSJ_MESSAGE_ID_LIMIT characters */
    PSJ_PROPERTIES_NOT_OBJECT,
    PSJ_TRAITS_NOT_OBJECT,
    PSJ_CONTEXT_NOT_OBJECT,
    PSJ_NAME_NOT_STRING,
    PSJ_TIMESTAMP_NOT_STRING
};

/* Unicode scalar values, counted in the decoded text. */
#define PSJ_MESSAGE_ID_LIMIT 100

typedef struct {
    uint32_t offset; /* of the line's first byte that is not white space, in the buffer given */
    uint32_t length; /* of the JSON, white space around it left off */
    uint32_t line;   /* how many line feeds lie before it in the buffer given */
    uint8_t kind;    /* enum psj_kind */
    uint8_t flags;   /* enum psj_flag */
    uint8_t verdict; /* enum psj_verdict */
    uint8_t field;   /* enum psj_field: the one that the verdict is about */
    psj_slice event; /* these are relative to `offset` */
    psj_slice message_id; /* also of a refused event, if it could be read */
    psj_slice user_id;
    psj_slice anonymous_id;
    psj_slice timestamp; /* contents of the strings, for the caller to check */
    psj_slice sent_at;
    psj_slice fault; /* the offending place or value, where there is one */
} psj_event;

/* Validates every line of bytes[0..<length], each ended by a line feed (the last one too, else
 * what follows the last line feed is left alone), and writes one psj_event a line, at most
 * `capacity`. Lines that hold white space alone are passed over, but counted in `lines`.
 * Returns how many were written; *consumed is the number of bytes they took, *lines the number
 * of line feeds among those. `max_event` bounds a line's JSON. Reads nothing beyond
 * bytes[length - 1]. Duplicate keys: the last one counts. Numbers are checked by JSON's grammar
 * alone: any size and any number of digits is valid. Keys with escapes are compared decoded. */
size_t psj_scan_lines(psj_parser *parser, const uint8_t *bytes, size_t length, size_t max_event,
                      psj_event *out, size_t capacity, size_t *consumed, size_t *lines);

enum psj_type {
    PSJ_MISSING = 0,
    PSJ_NULL,
    PSJ_FALSE,
    PSJ_TRUE,
    PSJ_NUMBER,
    PSJ_STRING, /* slice: contents without quotes */
    PSJ_ESCAPED_STRING, /* the same, with backslash escapes in it */
    PSJ_ARRAY,  /* slice: with its brackets */
    PSJ_OBJECT
};

typedef struct {
    uint32_t offset; /* relative to the event's first byte */
    uint32_t length;
    uint8_t type; /* enum psj_type */
} psj_value;

/* A set of paths compiled to a trie; immutable once made, shareable between threads. A path is
 * its segments, decoded; a segment of digits (no leading zero, at most nine) also matches an
 * array index. */
typedef struct psj_paths psj_paths;
/* Most segments that a path may have. */
#define PSJ_PATH_LIMIT 128
/* text: all segments of all paths one after the other; lengths[k] bytes belong to the k-th of
 * them, and counts[i] segments to path i. Keeps none of it. NULL without memory,
 * or if a path is too long. */
psj_paths *psj_paths_create(const uint8_t *text, const uint32_t *lengths, const uint32_t *counts, size_t path_count);
void psj_paths_destroy(psj_paths *paths);

enum psj_answer {
    PSJ_FETCHED = 0,
    /* A value has another of the same name before it in the event. */
    PSJ_FETCHED_FROM_DUPLICATES,
    /* The bytes are not what was validated; every value is missing. */
    PSJ_UNREADABLE
};

/* Fetches all paths from one event that was validated before, in one pass. values[i] answers
 * path i. Duplicate keys: the last one counts, with all that is in it; hence no way out before
 * the end. Any value may stand for the event; only in an object or an array is there something.
 *
 * Allocates nothing. Of any bytes it reads nothing outside bytes[0..<length], takes a time linear
 * in the length, and gives values that lie within; but it does not notice all that was
 * never validated. Returns an enum psj_answer. */
int psj_fetch(const psj_paths *paths, const uint8_t *bytes, size_t length, psj_value *values);

/* 0: the text stands nowhere in the bytes, and no backslash does: so a key that is spelled like it,
 * quotes included, is not there. 1: it may be. Texts of less than 4 bytes are never ruled out. */
int psj_may_contain(const uint8_t *bytes, size_t length, const uint8_t *text, size_t text_length);

/* Decodes the contents of a JSON string (escapes and all) to UTF-8. out holds at least `length`
 * bytes. Returns the decoded length, or SIZE_MAX if the escapes are invalid (half of a surrogate
 * pair is). */
size_t psj_unescape(const uint8_t *contents, size_t length, uint8_t *out);

#ifdef __cplusplus
}
#endif
#endif

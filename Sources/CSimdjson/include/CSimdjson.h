/* A thin C interface to events as bytes: validates and indexes lines, and fetches a set of paths from one event. For
 * validation, simdjson (Debian's libsimdjson) finds the structurals and checks UTF-8 with the best instruction set
 * of the machine, which it selects at run time. The grammar is checked here (see Parser.hpp). A fetch from an event
 * that was validated before takes much less work (see Fetch.cpp).
 *
 * One thread may use a parser at a time. No function keeps a pointer to the caller's bytes after it returns, and
 * none throws. */
#ifndef CSIMDJSON_H
#define CSIMDJSON_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* memcpy(3), memcmp(3) and memchr(3), for Swift that does not import the whole C library. */
static inline void psj_copy(void *to, const void *from, size_t count) { memcpy(to, from, count); }
static inline int psj_equal(const void *a, const void *b, size_t count) { return memcmp(a, b, count) == 0; }
static inline const void *psj_find(const void *bytes, uint8_t byte, size_t count) { return memchr(bytes, byte, count); }

typedef struct psj_parser psj_parser;

/* Creates a parser for documents of at most max_bytes bytes and max_depth levels. The outermost object is level 1.
 * The parser takes 5 bytes of memory for each byte of max_bytes. Returns NULL if memory is out, or if either
 * argument is 0. */
psj_parser *psj_parser_create(size_t max_bytes, size_t max_depth);
void psj_parser_destroy(psj_parser *parser);

/* The contents of a string without its quotes. Offset UINT32_MAX: absent. */
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
    PSJ_HAS_OTHER_VALUES = 1 << 5,
    /* These two are not part of an event's index. Admission counts them.
     * userId, anonymousId, previousId or groupId is an empty string, which counts as absent. */
    PSJ_HAS_EMPTY_ID = 1 << 6,
    /* An identify without traits whose context.traits is an object. */
    PSJ_HAS_CONTEXT_TRAITS = 1 << 7
};

/* The fields that admission looks at. */
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

/* The fault of a line. The order is that of the checks: first the JSON as a whole, then the fields that determine
 * the kind of event, then the ids, then the rest. A field that is null counts as absent, and so does an empty id. */
enum psj_verdict {
    PSJ_OK = 0,
    PSJ_TOO_LARGE,
    PSJ_INVALID_UTF8,
    PSJ_UNCLOSED_STRING,
    PSJ_CONTROL_CHARACTER, /* below U+0020, raw, inside a string */
    PSJ_INVALID_JSON,      /* fault: the first byte that breaks the grammar */
    PSJ_TOO_DEEP,
    PSJ_INVALID_ESCAPE,    /* fault: the backslash */
    /* Half of a surrogate pair (\ud83d alone). By RFC 8259 section 8.2, receivers treat it unpredictably: many
     * reject the whole batch that contains it. So admission rejects it. */
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
    uint32_t offset; /* of the line's first byte that is not white space, in the buffer */
    uint32_t length; /* of the JSON, without white space around it */
    uint32_t line;   /* the number of line feeds before it in the buffer */
    uint8_t kind;    /* enum psj_kind */
    uint8_t flags;   /* enum psj_flag */
    uint8_t verdict; /* enum psj_verdict */
    uint8_t field;   /* enum psj_field: the field of the verdict */
    psj_slice event; /* this and the following are relative to `offset` */
    psj_slice message_id; /* also set for a rejected event, if it could be read */
    psj_slice user_id;
    psj_slice anonymous_id;
    psj_slice timestamp; /* this and sent_at: contents of the strings, which the caller must check */
    psj_slice sent_at;
    psj_slice fault; /* the place or value that caused the verdict, if there is one */
} psj_event;

/* Validates every line of bytes[0..<length] and writes one psj_event for each, at most `capacity`. A line ends with
 * a line feed; bytes after the last line feed are left for a later call. Lines of white space alone get no
 * psj_event, but count in `lines`.
 *
 * Returns the number of events written. *consumed is the number of bytes that were used, *lines the number of line
 * feeds among them. `max_event` bounds the length of a line's JSON. Reads nothing beyond bytes[length - 1].
 *
 * The last of several duplicate keys counts. Keys with escapes are compared decoded. Numbers are checked only by
 * JSON's grammar: any size and any number of digits is valid. */
size_t psj_scan_lines(psj_parser *parser, const uint8_t *bytes, size_t length, size_t max_event,
                      psj_event *out, size_t capacity, size_t *consumed, size_t *lines);

enum psj_type {
    PSJ_MISSING = 0,
    PSJ_NULL,
    PSJ_FALSE,
    PSJ_TRUE,
    PSJ_NUMBER,
    PSJ_STRING, /* slice: contents without quotes */
    PSJ_ESCAPED_STRING, /* as above, with backslash escapes in it */
    PSJ_ARRAY,  /* slice: with its brackets */
    PSJ_OBJECT
};

typedef struct {
    uint32_t offset; /* relative to the event's first byte */
    uint32_t length;
    uint8_t type; /* enum psj_type */
} psj_value;

/* A set of paths, compiled to a trie. It is immutable; any thread may use it. A path is a list of decoded segments.
 * A segment of digits (no leading zero, at most nine) also matches an array index. */
typedef struct psj_paths psj_paths;
/* Most segments that a path may have. */
#define PSJ_PATH_LIMIT 128
/* text: all segments of all paths, one after another. lengths[k] is the length in bytes of segment k; counts[i] is
 * the number of segments of path i. The set keeps none of these pointers. Returns NULL if memory is out, or if a
 * path is too long. */
psj_paths *psj_paths_create(const uint8_t *text, const uint32_t *lengths, const uint32_t *counts, size_t path_count);
void psj_paths_destroy(psj_paths *paths);

enum psj_answer {
    PSJ_FETCHED = 0,
    /* A value that was fetched has a duplicate key before it in the event. */
    PSJ_FETCHED_FROM_DUPLICATES,
    /* The bytes are not those of a validated event. Every value is missing. */
    PSJ_UNREADABLE
};

/* Fetches all paths from one event that was validated before, in one pass. values[i] is the value of path i. The
 * last of several duplicate keys counts, with everything inside it; so the pass always reads to the end of the
 * event. Any JSON value may take the place of the event, but only an object or an array has values inside.
 *
 * Allocates nothing. For any bytes, it reads nothing outside bytes[0..<length], takes time linear in the length, and
 * returns values that lie inside the bytes. It does not detect every fault in bytes that were never validated.
 * Returns an enum psj_answer. */
int psj_fetch(const psj_paths *paths, const uint8_t *bytes, size_t length, psj_value *values);

/* Returns 0 if neither the text nor a backslash occurs in the bytes. A key or a string that is spelled like the text,
 * quotes included, is then not there. Returns 1 if it may be there. Always returns 1 for a text of less than 4 bytes. */
int psj_may_contain(const uint8_t *bytes, size_t length, const uint8_t *text, size_t text_length);

/* Copies `length` bytes of JSON to `out` and replaces each half of a surrogate pair (\ud83d alone) by \ufffd, which is
 * equally long. Other bytes stay unchanged, and so do invalid escapes. The bytes are one value in which every backslash
 * is inside a string. */
void psj_replace_lone_surrogates(const uint8_t *bytes, size_t length, uint8_t *out);

/* Decodes the contents of a JSON string, with escapes, to UTF-8. out holds at least `length` bytes. Returns the
 * decoded length, or SIZE_MAX if an escape is invalid, such as half of a surrogate pair. */
size_t psj_unescape(const uint8_t *contents, size_t length, uint8_t *out);

/* Checks that bytes[0..<length] are exactly one JSON value (RFC 8259), with white space around it. The byte after them,
 * bytes[length], must be readable and white space. Half of a surrogate pair is valid here, as in the RFC's grammar.
 *
 * Returns PSJ_OK, PSJ_TOO_LARGE (for the parser), PSJ_INVALID_UTF8, PSJ_UNCLOSED_STRING, PSJ_CONTROL_CHARACTER,
 * PSJ_INVALID_JSON, PSJ_TOO_DEEP or PSJ_INVALID_ESCAPE. The last three set *fault as psj_scan_lines does; for the
 * others it is absent. The depth is bounded by max_depth and by the parser. */
int psj_validate(psj_parser *parser, const uint8_t *bytes, size_t length, size_t max_depth, psj_slice *fault);

/* Whether a byte from U+000A to U+000D occurs: a line feed, a carriage return, or one of the two control characters
 * between them, which JSON does not allow. The second function replaces each of these bytes by a space. */
int psj_has_line_break(const uint8_t *bytes, size_t length);
void psj_replace_line_breaks(uint8_t *bytes, size_t length);

/* An object in the body of a tracking request: an event, or the envelope of a batch. Offsets are relative to the body.
 * The last of several duplicate keys counts. Keys with escapes are compared decoded. */
typedef struct {
    uint32_t offset;
    uint32_t length;
    psj_value type;
    psj_value context;
    psj_value integrations;
    psj_value sent_at;
    psj_value write_key;
    psj_value batch;
} psj_request_object;

/* Indexes a body that is one event. Returns 0 if the body is not an object, or is not JSON.
 *
 * This and the following two functions allocate nothing. For any bytes, they read nothing outside bytes[0..<length],
 * take time linear in the length, and return values that lie inside the bytes. They do not detect every fault in bytes
 * that are not JSON. They succeed for every object that is valid. */
int psj_index_event(const uint8_t *bytes, size_t length, psj_request_object *event);

/* Indexes a body that is a batch. *count is the number of items in the array `batch`; items[0..<capacity] holds the
 * first ones. An item that is not an object has only its place: offset and length.
 *
 * If it returns 1, the array consists of brackets, white space, the items, and one comma between two items. So the body
 * is valid JSON if each item is valid by itself, and the body is valid with another value in place of the array. */
int psj_index_batch(const uint8_t *bytes, size_t length, psj_request_object *envelope, psj_request_object *items,
                    size_t capacity, size_t *count);

typedef struct {
    psj_slice key; /* the contents, without quotes */
    psj_value value;
} psj_member;

/* Lists the members of an object in their order, duplicates included. bytes[0] is its opening brace and
 * bytes[length - 1] the closing one. Returns 0 if these are not the bytes of an object, or if it has more than
 * `capacity` members. */
int psj_list_members(const uint8_t *bytes, size_t length, psj_member *out, size_t capacity, size_t *count);

#ifdef __cplusplus
}
#endif
#endif

#include "Parser.hpp"

#include <new>

psj_parser *psj_parser_create(size_t max_bytes, size_t max_depth) {
    if (max_bytes == 0 || max_depth == 0 || max_bytes > UINT32_MAX) return nullptr;
    std::unique_ptr<psj_parser> parser(new (std::nothrow) psj_parser);
    if (!parser) return nullptr;
    // simdjson's own depth limit affects only its second stage, so the minimum is enough.
    if (simdjson::get_active_implementation()->create_dom_parser_implementation(max_bytes, 1, parser->library)) {
        return nullptr;
    }
    parser->max_depth = max_depth;
    parser->open.reset(new (std::nothrow) uint8_t[max_depth]);
    parser->key.reset(new (std::nothrow) uint8_t[max_bytes]);
    if (!parser->open || !parser->key) return nullptr;
    return parser.release();
}

void psj_parser_destroy(psj_parser *parser) { delete parser; }

#include "CRE2.h"

#include <cstdio>
#include <memory>
#include <new>
#include <re2/re2.h>

struct cre2_pattern {
    RE2 expression;
    cre2_pattern(re2::StringPiece pattern, const RE2::Options &options) : expression(pattern, options) {}
};

cre2_pattern *cre2_create(const char *pattern, size_t length, size_t max_memory, char *error, size_t error_size) {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(int64_t(max_memory));
    std::unique_ptr<cre2_pattern> made(new (std::nothrow) cre2_pattern(re2::StringPiece(pattern, length), options));
    if (made && made->expression.ok()) return made.release();
    if (error_size > 0) snprintf(error, error_size, "%s", made ? made->expression.error().c_str() : "no memory");
    return nullptr;
}

void cre2_destroy(cre2_pattern *pattern) { delete pattern; }

int cre2_find(const cre2_pattern *pattern, const char *text, size_t length, size_t start, size_t *from, size_t *to) {
    const re2::StringPiece whole(text, length);
    re2::StringPiece found;
    if (!pattern->expression.Match(whole, start, length, RE2::UNANCHORED, &found, 1)) return 0;
    *from = size_t(found.data() - text);
    *to = *from + found.size();
    return 1;
}

int cre2_matches(const cre2_pattern *pattern, const char *text, size_t length) {
    return pattern->expression.Match(re2::StringPiece(text, length), 0, length, RE2::UNANCHORED, nullptr, 0);
}

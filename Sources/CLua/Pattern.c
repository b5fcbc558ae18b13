/* Lua's patterns as in its manual (§6.4.1), with a charge for every step. Lua's own matcher cannot be stopped, and
 * some patterns would keep it busy for years. */
#include "Pattern.h"

#include <ctype.h>
#include <string.h>

#define MAXIMUM_RECURSION 200

typedef clua_matcher matcher;

static const char *match(matcher *m, const char *s, const char *p);

void clua_step(matcher *m) {
    if (++m->steps % 64 == 0) clua_charge(m->L, 16);
}

/* Returns the end of the single character, class or set that begins at `p`. */
static const char *item_end(matcher *m, const char *p) {
    if (*p == '%') {
        if (p + 1 >= m->pattern_end) luaL_error(m->L, "malformed pattern (ends with '%%')");
        return p + 2;
    }
    if (*p++ != '[') return p;
    if (p < m->pattern_end && *p == '^') p++;
    /* A bracket in first position is literal. */
    do {
        clua_step(m);
        if (p >= m->pattern_end) luaL_error(m->L, "malformed pattern (missing ']')");
        p += *p == '%' ? 2 : 1;
    } while (p >= m->pattern_end || *p != ']');
    return p + 1;
}

static bool in_class(int c, int class) {
    bool is_in;
    switch (tolower(class)) {
    case 'a': is_in = isalpha(c); break;
    case 'c': is_in = iscntrl(c); break;
    case 'd': is_in = isdigit(c); break;
    case 'g': is_in = isgraph(c); break;
    case 'l': is_in = islower(c); break;
    case 'p': is_in = ispunct(c); break;
    case 's': is_in = isspace(c); break;
    case 'u': is_in = isupper(c); break;
    case 'w': is_in = isalnum(c); break;
    case 'x': is_in = isxdigit(c); break;
    default: return class == c;
    }
    return isupper(class) ? !is_in : is_in;
}

/* `p` is at the opening bracket, `end` is after the closing one. */
static bool in_set(matcher *m, int c, const char *p, const char *end) {
    bool wanted = true;
    end--;
    p++;
    if (p < end && *p == '^') {
        wanted = false;
        p++;
    }
    for (; p < end; p++) {
        clua_step(m);
        if (*p == '%' && p + 1 < end) {
            if (in_class(c, (unsigned char)*++p)) return wanted;
        } else if (p + 2 < end && p[1] == '-') {
            if ((unsigned char)p[0] <= c && c <= (unsigned char)p[2]) return wanted;
            p += 2;
        } else if ((unsigned char)*p == c) {
            return wanted;
        }
    }
    return !wanted;
}

static bool matches_item(matcher *m, const char *s, const char *p, const char *end) {
    if (s >= m->text_end) return false;
    clua_step(m);
    int c = (unsigned char)*s;
    switch (*p) {
    case '.': return true;
    case '%': return in_class(c, (unsigned char)p[1]);
    case '[': return in_set(m, c, p, end);
    default: return (unsigned char)*p == c;
    }
}

static const char *match_balance(matcher *m, const char *s, const char *p) {
    if (m->pattern_end - p < 2) luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
    if (s >= m->text_end || *s != p[0]) return NULL;
    long open = 1;
    while (++s < m->text_end) {
        clua_step(m);
        if (*s == p[1]) {
            if (--open == 0) return s + 1;
        } else if (*s == p[0]) {
            open++;
        }
    }
    return NULL;
}

static const char *match_longest(matcher *m, const char *s, const char *p, const char *end, ptrdiff_t least) {
    ptrdiff_t count = 0;
    while (matches_item(m, s + count, p, end)) count++;
    for (; count >= least; count--) {
        const char *found = match(m, s + count, end + 1);
        if (found != NULL) return found;
    }
    return NULL;
}

static const char *match_shortest(matcher *m, const char *s, const char *p, const char *end) {
    for (;; s++) {
        const char *found = match(m, s, end + 1);
        if (found != NULL) return found;
        if (!matches_item(m, s, p, end)) return NULL;
    }
}

static const char *open_capture(matcher *m, const char *s, const char *p, ptrdiff_t length) {
    if (m->level >= CLUA_MAXIMUM_CAPTURES) luaL_error(m->L, "too many captures");
    m->captures[m->level].start = s;
    m->captures[m->level].length = length;
    m->level++;
    const char *found = match(m, s, p);
    if (found == NULL) m->level--;
    return found;
}

static const char *close_capture(matcher *m, const char *s, const char *p) {
    int k = m->level - 1;
    while (k >= 0 && m->captures[k].length != CLUA_OPEN) k--;
    if (k < 0) luaL_error(m->L, "invalid pattern capture");
    m->captures[k].length = s - m->captures[k].start;
    const char *found = match(m, s, p);
    if (found == NULL) m->captures[k].length = CLUA_OPEN;
    return found;
}

static const char *match_back(matcher *m, const char *s, int digit) {
    int k = digit - '1';
    if (k < 0 || k >= m->level || m->captures[k].length == CLUA_OPEN) luaL_error(m->L, "invalid capture index %%%d", k + 1);
    ptrdiff_t length = m->captures[k].length == CLUA_POSITION ? 0 : m->captures[k].length;
    clua_step(m);
    if (m->text_end - s < length) return NULL;
    if (length > 64) clua_charge(m->L, (uint64_t)length / 64);
    return memcmp(m->captures[k].start, s, (size_t)length) == 0 ? s + length : NULL;
}

/* Returns the end of the match at `s`; NULL: no match. */
static const char *match_here(matcher *m, const char *s, const char *p) {
    while (p < m->pattern_end) {
        clua_step(m);
        switch (*p) {
        case '(':
            return p + 1 < m->pattern_end && p[1] == ')' ? open_capture(m, s, p + 2, CLUA_POSITION)
                                                         : open_capture(m, s, p + 1, CLUA_OPEN);
        case ')': return close_capture(m, s, p + 1);
        case '$':
            if (p + 1 == m->pattern_end) return s == m->text_end ? s : NULL;
            break;
        case '%':
            if (p + 1 >= m->pattern_end) break;
            if (p[1] == 'b') {
                s = match_balance(m, s, p + 2);
                if (s == NULL) return NULL;
                p += 4;
                continue;
            }
            if (p[1] == 'f') {
                p += 2;
                if (p >= m->pattern_end || *p != '[') luaL_error(m->L, "missing '[' after '%%f' in pattern");
                const char *end = item_end(m, p);
                int before = s == m->text ? 0 : (unsigned char)s[-1];
                int behind = s == m->text_end ? 0 : (unsigned char)*s;
                if (in_set(m, before, p, end) || !in_set(m, behind, p, end)) return NULL;
                p = end;
                continue;
            }
            if (isdigit((unsigned char)p[1])) {
                s = match_back(m, s, (unsigned char)p[1]);
                if (s == NULL) return NULL;
                p += 2;
                continue;
            }
            break;
        default: break;
        }
        const char *end = item_end(m, p);
        switch (end < m->pattern_end ? *end : 0) {
        case '*': return match_longest(m, s, p, end, 0);
        case '+': return match_longest(m, s, p, end, 1);
        case '-': return match_shortest(m, s, p, end);
        case '?':
            if (matches_item(m, s, p, end)) {
                const char *found = match(m, s + 1, end + 1);
                if (found != NULL) return found;
            }
            p = end + 1;
            continue;
        default:
            if (!matches_item(m, s, p, end)) return NULL;
            s++;
            p = end;
        }
    }
    return s;
}

static const char *match(matcher *m, const char *s, const char *p) {
    if (++m->depth > MAXIMUM_RECURSION) luaL_error(m->L, "pattern too complex");
    const char *found = match_here(m, s, p);
    m->depth--;
    return found;
}

const char *clua_match(matcher *m, const char *s, const char *pattern) {
    m->level = 0;
    m->depth = 0;
    return match(m, s, pattern);
}

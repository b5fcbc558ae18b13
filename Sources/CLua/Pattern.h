/* Matcher for Lua patterns. */
#ifndef CLUA_PATTERN_H
#define CLUA_PATTERN_H

#include "Script.h"

#define CLUA_MAXIMUM_CAPTURES 32
/* Special lengths of captures: not closed yet, and position captures. */
#define CLUA_OPEN (-1)
#define CLUA_POSITION (-2)

typedef struct {
    lua_State *L;
    const char *text, *text_end;
    const char *pattern_end;
    int level;
    int depth;
    unsigned steps;
    struct {
        const char *start;
        ptrdiff_t length; /* or CLUA_OPEN, CLUA_POSITION */
    } captures[CLUA_MAXIMUM_CAPTURES];
} clua_matcher;

/* Counts one step of work. */
void clua_step(clua_matcher *m);
/* Returns the end of the match at `s`; NULL: no match. Discards earlier captures. */
const char *clua_match(clua_matcher *m, const char *s, const char *pattern);

#endif

// Finds the ends of lines.
#ifndef PENSTOCK_LINE_FEEDS_HPP
#define PENSTOCK_LINE_FEEDS_HPP

#include <cstddef>
#include <cstdint>

namespace penstock {

/// The ends of some lines.
struct LineFeeds {
    static constexpr uint32_t most = 64;
    uint32_t count;
    /// False: no backslash is in the bytes up to the last line feed.
    bool may_escape;
    uint32_t offsets[most];
};

/// Finds the first line feeds of bytes[0..<length], at most `limit`, which is at most LineFeeds::most.
void find_line_feeds(const uint8_t *bytes, size_t length, uint32_t limit, LineFeeds &out);

} // namespace penstock

#endif

/// The scripts that the server runs, each as one transaction. Positions are texts, because Lua's numbers have 53 bits.
enum PositionScript {
    /// Takes over the position, so that transactions which older connections have sent are refused from now on.
    ///
    /// KEYS: the position. ARGV: destination, journal, a new epoch.
    /// Replies `ok`, position, token, whole, after; or `taken`, destination, journal.
    static let claim = """
        local found = redis.call('HMGET', KEYS[1], 'destination', 'journal', 'position', 'token', 'whole', 'after')
        if found[1] and (found[1] ~= ARGV[1] or found[2] ~= ARGV[2]) then return {'taken', found[1], found[2]} end
        redis.call('HSET', KEYS[1], 'destination', ARGV[1], 'journal', ARGV[2], 'epoch', ARGV[3])
        return {'ok', found[3] or '', found[4] or '', found[5] or '', found[6] or ''}
        """

    /// Appends entries, and moves the position: to the last event, or before the first event that failed. A failed
    /// event whose key is at fault does not stop the others. Entries above the position are listed in `after`.
    ///
    /// KEYS: the position, streams. ARGV: epoch, token, the last position, after, MAXLEN or an empty text, 1 if a key
    /// may be an event's fault; then for each event: its stream's index in KEYS, its id, the position if it fails, and
    /// the values of the entry.
    /// Replies `stored` or `none`, the position, then the index and the error of each event that failed; or `stale`.
    static let store = """
        if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return {'stale'} end
        local answer, stored, position = {'none', ''}, {}, nil
        for i = 7, #ARGV, 9 do
          local key, reply = KEYS[tonumber(ARGV[i])], nil
          if ARGV[5] == '' then
            reply = redis.pcall('XADD', key, '*', 'position', ARGV[i + 3], 'part', ARGV[i + 4], 'message_id',
              ARGV[i + 5], 'kind', ARGV[i + 6], 'event', ARGV[i + 7], 'payload', ARGV[i + 8])
          else
            reply = redis.pcall('XADD', key, 'MAXLEN', '~', ARGV[5], '*', 'position', ARGV[i + 3], 'part',
              ARGV[i + 4], 'message_id', ARGV[i + 5], 'kind', ARGV[i + 6], 'event', ARGV[i + 7], 'payload', ARGV[i + 8])
          end
          if type(reply) == 'table' and reply.err then
            position = position or ARGV[i + 2]
            answer[#answer + 1] = string.format('%d', (i - 7) / 9)
            answer[#answer + 1] = reply.err
            local blames = string.find(reply.err, '^WRONGTYPE') or string.find(reply.err, 'one of the keys', 1, true)
            if ARGV[6] ~= '1' or not blames then break end
          else
            stored[#stored + 1] = ARGV[i + 1]
          end
        end
        if #stored == 0 then return answer end
        local after = ARGV[4]
        if position then after = after .. ' ' .. table.concat(stored, ' ') end
        redis.call('HSET', KEYS[1], 'token', ARGV[2], 'whole', position and '0' or '1', 'after', after)
        position = position or ARGV[3]
        if position ~= '' then redis.call('HSET', KEYS[1], 'position', position) end
        answer[1], answer[2] = 'stored', position
        return answer
        """
}

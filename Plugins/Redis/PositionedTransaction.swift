import PenstockPluginKit

/// Stores a batch together with its position: no event is stored twice.
///
/// - After a restart the host asks for the position, and does not offer live events at or below it.
/// - Within a run, a connection may end before the reply. The next connection first takes over the position: from then
///   on the server refuses what the old one has sent. It also learns whether the last transaction was executed. If it
///   was, its events are `held`: when the host offers them again, they are delivered without being stored again.
/// - An event that is rejected holds the position back until the next batch. Events after it are stored, and listed
///   with the position, so that they are recognised after a restart.
///
/// Events of a replay are stored like others: they have other tokens, and none of them is held.
final class PositionedTransaction: StreamTransaction {
    struct EventID: Hashable {
        var position: UInt64
        var part: UInt32

        init(_ event: Event) { (position, part) = (event.position, event.part) }

        init?(_ text: Substring) {
            let numbers = text.split(separator: ".")
            guard numbers.count == 2, let position = UInt64(numbers[0]), let part = UInt32(numbers[1]) else {
                return nil
            }
            (self.position, self.part) = (position, part)
        }

        var text: String { "\(position).\(part)" }
    }

    private let writer: EntryWriter
    private let key: String
    private let host: Host

    private var epoch = ""
    private var sent = 0
    /// The transaction without a reply, and its events.
    private var doubt: (token: String, ids: [EventID])?
    /// Stored events that the host may offer again.
    private var held: Set<EventID> = []
    /// The stored events above the position, and perhaps some below it.
    private var after: [EventID] = []
    private var hasClaimed = false
    private(set) var position: UInt64?

    init(_ writer: EntryWriter, key: String, _ host: Host) {
        self.writer = writer
        self.key = key
        self.host = host
    }

    var greeting: [[String]] { [] }

    func begin(on connection: RedisConnection) throws {
        let epoch = String(UInt64.random(in: 0 ... .max), radix: 36) + String(UInt64.random(in: 0 ... .max), radix: 36)
        let reply = try connection.ask(["EVAL", PositionScript.claim, "1", key, host.destination, host.journal, epoch])
        if let error = reply.error { throw error }
        guard let words = reply.texts, let first = words.first else { throw Self.unexpected }
        if first == "taken", words.count == 3 {
            let whose = words[1] == host.destination ? "another journal" : "destination \(words[1])"
            throw SinkError(
                "\(key) holds the position of \(whose): set another settings.position_key, or delete the key")
        }
        guard first == "ok", words.count == 5 else { throw Self.unexpected }
        let claimed = UInt64(words[1])
        if let position, claimed == nil || position > claimed ?? 0 {
            throw SinkError(
                "the server has lost entries: its position went back from \(position) to"
                    + " \(claimed.map { "\($0)" } ?? "none"); they are delivered again")
        }
        self.epoch = epoch
        position = claimed
        after = words[4].split(separator: " ").compactMap { EventID($0) }
        resolve(token: words[2], isWhole: words[3] == "1")
    }

    private func resolve(token: String, isWhole: Bool) {
        if !hasClaimed { held = Set(after.filter { $0.position >= firstOffered }) }
        if let doubt, doubt.token == token {
            held.formUnion(isWhole ? Set(doubt.ids) : Set(doubt.ids).intersection(after))
        }
        doubt = nil
        hasClaimed = true
    }

    /// The host offers no live event below it.
    private var firstOffered: UInt64 { position.map { $0 + 1 } ?? 0 }

    func store(_ batch: Batch, on connection: RedisConnection) throws -> [StoreResult] {
        let ids = batch.map { EventID($0) }
        let indexes = batch.indices.filter { !held.contains(ids[$0]) }
        var results = [StoreResult](repeating: .stored, count: batch.count)
        guard !indexes.isEmpty else {
            held.subtract(ids)
            return results
        }
        sent += 1
        let token = "\(epoch):\(sent)"
        let request = request(batch, indexes, ids, token)
        doubt = (token, indexes.map { ids[$0] })
        try connection.send(request)
        let reply = try connection.reply()
        doubt = nil
        if let error = reply.error {
            for index in indexes { results[index] = .failed(error) }
            return results
        }
        guard let words = reply.texts, words.count >= 2 else {
            let text = "another process has taken over \(key), or the server has lost it"
            throw reply.texts == ["stale"] ? RedisConnectionLost(reason: text) : Self.unexpected
        }
        var isStopped = false
        for pair in stride(from: 2, to: words.count - 1, by: 2) {
            guard let number = Int(words[pair]), indexes.indices.contains(number) else { throw Self.unexpected }
            let error = RedisError(message: words[pair + 1])
            results[indexes[number]] = .failed(error)
            // The script stops there.
            guard !writer.isFault(ofEvent: error) else { continue }
            for index in indexes[number...] { results[index] = .failed(error) }
            isStopped = true
        }
        held.subtract(ids)
        if words[0] == "stored" {
            position = UInt64(words[1]) ?? position
            let isWhole = !isStopped && words.count == 2
            if !isWhole { after += indexes.compactMap { if case .stored = results[$0] { ids[$0] } else { nil } } }
        }
        // Held events after the failed one are offered again, too, if the host retries the whole rest.
        after.removeAll { $0.position < firstOffered }
        return results
    }

    private func request(_ batch: Batch, _ indexes: [Int], _ ids: [EventID], _ token: String) -> RedisRequest {
        var streams: [[UInt8]: Int] = [:]
        var keys: [[UInt8]] = []
        var events = RedisRequest()
        for index in indexes {
            let event = batch[index]
            writer.read(event) { key, values in
                let number = streams[key] ?? keys.count
                if number == keys.count {
                    streams[key] = number
                    keys.append(key)
                }
                // KEYS has the position's key first, and counts from 1.
                events.argument(String(number + 2))
                events.argument(ids[index].text)
                events.argument(text(highest(event.position == 0 ? nil : event.position - 1)))
                values(&events)
            }
        }
        var request = RedisRequest()
        request.command(3 + 1 + keys.count + 6 + indexes.count * 9)
        request.argument("EVAL")
        request.argument(PositionScript.store)
        request.argument(String(1 + keys.count))
        request.argument(key)
        for key in keys { request.argument(key) }
        request.argument(epoch)
        request.argument(token)
        request.argument(text(highest(batch.lastPosition)))
        request.argument(after.map(\.text).joined(separator: " "))
        request.argument(writer.maximumLength.map { String($0) } ?? "")
        request.argument(writer.hasOneStream ? "0" : "1")
        request.append(events)
        return request
    }

    /// The position never goes back: a replay has lower ones.
    private func highest(_ other: UInt64?) -> UInt64? {
        guard let position, let other else { return position ?? other }
        return max(position, other)
    }

    private func text(_ position: UInt64?) -> String { position.map { String($0) } ?? "" }

    private static var unexpected: RedisError { RedisError(message: "a script has an unexpected reply") }
}

import PenstockPluginKit

/// One event's result in a transaction.
enum StoreResult {
    case stored
    case failed(RedisError)
    /// Another event's error kept this one from being stored.
    case skipped
}

/// Stores each batch in one transaction.
protocol StreamTransaction: AnyObject {
    /// The commands that a new connection begins with.
    var greeting: [[String]] { get }
    /// The last position that is stored with the entries; nil: none is.
    var position: UInt64? { get }

    /// Called for each new connection, after the greeting.
    func begin(on connection: RedisConnection) throws

    /// - Returns: a result for each event, in the batch's order.
    /// - Throws: `RedisConnectionLost`: the batch may have been stored.
    func store(_ batch: Batch, on connection: RedisConnection) throws -> [StoreResult]
}

/// MULTI ... EXEC: a batch that is offered again is stored again.
final class PlainTransaction: StreamTransaction {
    private let writer: EntryWriter
    private var request = RedisRequest()

    init(_ writer: EntryWriter) { self.writer = writer }

    /// They prove that transactions work: where MULTI fails, the commands after it would be executed one by one.
    var greeting: [[String]] { [["MULTI"], ["DISCARD"]] }

    var position: UInt64? { nil }

    func begin(on connection: RedisConnection) {}

    func store(_ batch: Batch, on connection: RedisConnection) throws -> [StoreResult] {
        request.removeAll()
        request.command(["MULTI"])
        for event in batch { writer.append(event, to: &request) }
        request.command(["EXEC"])
        try connection.send(request)
        _ = try connection.reply()
        var queued: [RedisError?] = []
        for _ in batch { queued.append(try connection.reply().error) }
        return results(queued, try connection.reply())
    }

    /// - Parameters:
    ///   - queued: the error of each command that the server did not accept into the transaction. If there is one, the
    ///     server has executed none of them.
    ///   - executed: EXEC's reply.
    private func results(_ queued: [RedisError?], _ executed: RedisReply) -> [StoreResult] {
        func all(_ error: RedisError) -> [StoreResult] { Array(repeating: .failed(error), count: queued.count) }
        let refused = queued.compactMap(\.self)
        if let worst = refused.first(where: { !writer.isFault(ofEvent: $0) }) { return all(worst) }
        // The others are stored in the next transaction, without these.
        if !refused.isEmpty { return queued.map { $0.map { .failed($0) } ?? .skipped } }
        switch executed {
        case .array(let replies) where replies.count == queued.count:
            return replies.map { reply in reply.error.map { .failed($0) } ?? .stored }
        case .error(let error): return all(error)
        default: return all(RedisError(message: "EXEC has an unexpected reply"))
        }
    }
}

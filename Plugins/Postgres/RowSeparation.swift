import PenstockPluginKit

/// Inserts rows in an open transaction, and finds those that PostgreSQL rejects: each half of rows that fail is tried
/// separately. Existing rows stay as they are.
struct RowSeparation {
    /// The reason for each rejected event, by index in the batch.
    private(set) var rejected: [Int: String] = [:]
    /// The events that were not tried, by index in the batch: three quarters of the time had passed.
    private(set) var untried: Set<Int> = []
    /// The number of new rows.
    private(set) var inserted = 0

    private let connection: Connection
    private let rows: EventRows
    private let insertion: String
    private let copy: String

    init(_ connection: Connection, _ rows: EventRows, insertion: String, copy: String) {
        self.connection = connection
        self.rows = rows
        self.insertion = insertion
        self.copy = copy
    }

    /// - Throws: an error that is no row's fault. The transaction is then of no more use.
    mutating func run(until deadline: Deadline) throws(PostgresError) {
        let end = Deadline.after(deadline.timeLeft / 4 * 3)
        var pending = rows.count > 0 ? [0..<rows.count] : []
        try connection.run("SAVEPOINT row", until: deadline)
        while let range = pending.popLast() {
            guard end.millisecondsLeft > 0 || range.lowerBound == 0 else {
                untried.formUnion(range.map { rows.events[$0] })
                continue
            }
            if let reason = try insert(range, until: deadline) {
                guard range.count == 1 else {
                    let middle = range.lowerBound + range.count / 2
                    pending.append(middle..<range.upperBound)
                    pending.append(range.lowerBound..<middle)
                    continue
                }
                rejected[rows.events[range.lowerBound]] = try explain(range, until: deadline) ?? reason
            }
        }
    }

    /// - Returns: why a row was rejected; nil: all rows are inserted.
    private mutating func insert(_ range: Range<Int>, until deadline: Deadline) throws(PostgresError) -> String? {
        do throws(PostgresError) {
            inserted += try connection.run(insertion, arrays: rows.textArrays(range), until: deadline).affected
            try connection.run("RELEASE row; SAVEPOINT row", until: deadline)
            return nil
        } catch {
            guard error.kind == .row else { throw error }
            try connection.run("ROLLBACK TO row", until: deadline)
            return error.message
        }
    }

    /// The message of COPY for a rejected row, which names the column; nil: COPY doesn't reject it.
    private func explain(_ range: Range<Int>, until deadline: Deadline) throws(PostgresError) -> String? {
        var reason: String?
        do throws(PostgresError) {
            try connection.run(copy, copying: rows.copyText(range), until: deadline)
        } catch {
            guard error.kind == .row else { throw error }
            if !error.isDuplicate { reason = error.message }
        }
        try connection.run("ROLLBACK TO row", until: deadline)
        return reason
    }
}

import CPostgres
import Glibc
import PenstockPluginKit

/// One connection to PostgreSQL. Every wait has a deadline. After an error of the kind `connection`, or a deadline that
/// has passed, it is of no more use. Use by one thread at a time.
@safe final class Connection {
    /// The result of one statement.
    struct Result {
        /// nil: NULL.
        var rows: [[String?]] = []
        /// The number of rows that were inserted, updated or copied.
        var affected = 0
    }

    private let handle: OpaquePointer
    private let string: ConnectionString
    /// Bytes of COPY that are handed to libpq at once, which keeps what the socket does not take.
    private static let chunk = 1 << 16

    /// - Parameter timeout: for each address of the server; nil: that of the string, or 10 seconds.
    init(_ string: ConnectionString, timeout: Duration?) throws(SinkError) {
        // Later keywords win over those of the connection string, earlier ones do not.
        var keywords = ["fallback_application_name", "connect_timeout", "dbname", "client_encoding"]
        var values = ["penstock", "10", string.text, "UTF8"]
        if let timeout {
            keywords.append("connect_timeout")
            // libpq has whole seconds.
            values.append("\((timeout + .milliseconds(999)).components.seconds)")
        }
        let handle = unsafe Self.withTexts(keywords) { keywords in
            unsafe Self.withTexts(values) { values in unsafe PQconnectdbParams(keywords, values, 1) }
        }
        guard let handle = unsafe handle else { throw SinkError("out of memory") }
        unsafe self.handle = handle
        self.string = string
        guard unsafe PQstatus(handle) == CONNECTION_OK else {
            throw SinkError(string.clean(unsafe String(cString: PQerrorMessage(handle))))
        }
        unsafe PQsetnonblocking(handle, 1)
        // Without it, libpq prints notices on standard error.
        _ = unsafe PQsetNoticeReceiver(handle, ignoreNotice, nil)
    }

    deinit { unsafe PQfinish(handle) }

    var serverVersion: Int32 { unsafe PQserverVersion(handle) }
    var isInTransaction: Bool { unsafe PQtransactionStatus(handle) != PQTRANS_IDLE }

    /// Runs statements with a single message. Without BEGIN they are one transaction.
    /// - Parameter rows: what a COPY … FROM STDIN among them gets.
    /// - Returns: the result of each statement.
    @discardableResult
    func run(_ sql: String, copying rows: [UInt8] = [], until deadline: Deadline) throws(PostgresError) -> [Result] {
        guard unsafe PQsendQuery(handle, sql) == 1 else { throw lost() }
        return try results(copying: rows, until: deadline)
    }

    /// Runs one statement with parameters of the type text[] in binary format.
    @discardableResult
    func run(_ sql: String, arrays: [[UInt8]], until deadline: Deadline) throws(PostgresError) -> Result {
        let textArray: Oid = 1009
        let types = [Oid](repeating: textArray, count: arrays.count)
        let lengths = arrays.map { Int32(clamping: $0.count) }
        let formats = [Int32](repeating: 1, count: arrays.count)
        let isSent = unsafe Array(arrays.joined()).withUnsafeBytes { all in
            var start = 0
            let values = unsafe arrays.map { array in
                defer { start += array.count }
                return unsafe all.baseAddress.map { unsafe ($0 + start).assumingMemoryBound(to: CChar.self) }
            }
            return unsafe PQsendQueryParams(handle, sql, Int32(arrays.count), types, values, lengths, formats, 0)
        }
        guard isSent == 1 else { throw lost() }
        return try results(copying: [], until: deadline).last ?? Result()
    }

    /// - Throws: the first error, once the server is ready for the next statement.
    private func results(copying rows: [UInt8], until deadline: Deadline) throws(PostgresError) -> [Result] {
        var results: [Result] = []
        var failure: PostgresError?
        try flush(until: deadline)
        while let result = unsafe try nextResult(until: deadline) {
            defer { unsafe PQclear(result) }
            switch unsafe PQresultStatus(result) {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: results.append(unsafe Self.read(result))
            case PGRES_COPY_IN: try send(rows, until: deadline)
            default: if failure == nil { failure = unsafe error(result) }
            }
        }
        if let failure { throw failure }
        return results
    }

    /// - Returns: nil at the end of the statements' results.
    private func nextResult(until deadline: Deadline) throws(PostgresError) -> OpaquePointer? {
        while unsafe PQisBusy(handle) == 1 {
            try wait(for: Int16(POLLIN), until: deadline)
            guard unsafe PQconsumeInput(handle) == 1 else { throw lost() }
        }
        return unsafe PQgetResult(handle)
    }

    private func send(_ rows: [UInt8], until deadline: Deadline) throws(PostgresError) {
        var sent = 0
        while sent < rows.count {
            let end = min(sent + Self.chunk, rows.count)
            let answer = unsafe rows.withUnsafeBytes { bytes in
                let data = unsafe bytes.baseAddress.map { unsafe ($0 + sent).assumingMemoryBound(to: CChar.self) }
                return unsafe PQputCopyData(handle, data, Int32(end - sent))
            }
            guard answer >= 0 else { throw lost() }
            if answer == 1 { sent = end }
            try flush(until: deadline)
        }
        while true {
            let answer = unsafe PQputCopyEnd(handle, nil)
            guard answer >= 0 else { throw lost() }
            try flush(until: deadline)
            if answer == 1 { return }
        }
    }

    /// Sends what libpq has kept. Reads meanwhile: a server that waits for its reader would not read.
    private func flush(until deadline: Deadline) throws(PostgresError) {
        while true {
            let answer = unsafe PQflush(handle)
            if answer == 0 { return }
            guard answer == 1 else { throw lost() }
            try wait(for: Int16(POLLIN | POLLOUT), until: deadline)
            guard unsafe PQconsumeInput(handle) == 1 else { throw lost() }
        }
    }

    private func wait(for events: Int16, until deadline: Deadline) throws(PostgresError) {
        var descriptor = unsafe pollfd(fd: PQsocket(handle), events: events, revents: 0)
        while true {
            let ready = unsafe poll(&descriptor, 1, deadline.millisecondsLeft)
            if ready > 0 { return }
            if ready == 0 { throw PostgresError(state: nil, message: "the server did not answer in time") }
            guard errno == EINTR else { throw PostgresError(state: nil, message: "poll: errno \(errno)") }
        }
    }

    private func lost() -> PostgresError {
        PostgresError(state: nil, message: string.clean(unsafe String(cString: PQerrorMessage(handle))))
    }

    private static func read(_ result: OpaquePointer) -> Result {
        let columns = unsafe PQnfields(result)
        let rows = unsafe (0..<PQntuples(result)).map { row in
            (0..<columns).map { column in
                unsafe PQgetisnull(result, row, column) == 1 ? nil : String(cString: PQgetvalue(result, row, column))
            }
        }
        return Result(rows: rows, affected: unsafe Int(String(cString: PQcmdTuples(result))) ?? 0)
    }

    private func error(_ result: OpaquePointer) -> PostgresError {
        func field(_ code: Unicode.Scalar) -> String? {
            unsafe PQresultErrorField(result, Int32(code.value)).map { unsafe String(cString: $0) }
        }
        let state = field("C")
        guard let primary = field("M") else {
            return PostgresError(
                state: state, message: string.clean(unsafe String(cString: PQresultErrorMessage(result))))
        }
        var message = primary
        if let column = field("c") ?? Self.column(ofContext: field("W") ?? "") { message = "\(column): \(message)" }
        // Other details repeat the whole row.
        if let detail = field("D"), let state, state.hasPrefix("22") || state == "23505" || state == "23503" {
            message += ": \(detail)"
        }
        return PostgresError(state: state, message: string.clean(Self.shortened(message)))
    }

    /// The column in `COPY events, line 1, column total: "abc"`. The words are in the server's language.
    private static func column(ofContext context: String) -> String? {
        let parts = context.prefix(500).split(separator: ", ", maxSplits: 2)
        guard parts.count == 3, parts[0].hasPrefix("COPY "), let colon = parts[2].firstIndex(of: ":") else {
            return nil
        }
        return parts[2][..<colon].split(separator: " ").last.map(String.init)
    }

    /// A message may contain a value of any length.
    private static func shortened(_ text: String) -> String {
        text.utf8.count <= 1000 ? text : "\(text.prefix(500)) … \(text.suffix(100))"
    }

    private static func withTexts<Value>(
        _ texts: [String], _ body: ([UnsafePointer<CChar>?]) -> Value
    ) -> Value {
        let copies = unsafe texts.map { unsafe strdup($0) }
        defer { unsafe copies.forEach { unsafe free($0) } }
        return unsafe body(copies.map { unsafe UnsafePointer($0) } + [nil])
    }
}

/// At file level: a closure could be inferred as `@MainActor`.
private func ignoreNotice(_: UnsafeMutableRawPointer?, _: OpaquePointer?) {}

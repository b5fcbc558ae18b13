import CSQLite

/// One connection. Use by one thread at a time.
@safe final class Database {
    private let handle: OpaquePointer

    /// Opens the file, and creates it if it is missing.
    /// - Parameter busyTimeout: how long to wait for another process's lock, in milliseconds.
    init(path: String, busyTimeout: Int32) throws(SQLiteError) {
        var handle: OpaquePointer?
        let code = unsafe sqlite3_open_v2(
            path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE, nil)
        guard code == SQLITE_OK, let handle = unsafe handle else {
            let error = unsafe Self.error(handle, code)
            unsafe sqlite3_close_v2(handle)
            throw error
        }
        unsafe self.handle = handle
        unsafe sqlite3_busy_timeout(handle, busyTimeout)
    }

    // v2 waits for statements that still exist.
    deinit { unsafe sqlite3_close_v2(handle) }

    /// Whether a transaction is open. Some errors end it by themselves.
    var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

    func execute(_ sql: String) throws(SQLiteError) {
        let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
        if code != SQLITE_OK { throw unsafe Self.error(handle, code) }
    }

    func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        var statement: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement = unsafe statement else { throw unsafe Self.error(handle, code) }
        return unsafe Statement(statement, of: self)
    }

    fileprivate func error(_ code: Int32) -> SQLiteError { unsafe Self.error(handle, code) }

    private static func error(_ handle: OpaquePointer?, _ code: Int32) -> SQLiteError {
        let text = unsafe handle == nil ? sqlite3_errstr(code) : sqlite3_errmsg(handle)
        return SQLiteError(code: code, message: unsafe text.map { unsafe String(cString: $0) } ?? "error \(code)")
    }
}

/// A prepared statement: bind, step, reset, and repeat.
@safe final class Statement {
    private let handle: OpaquePointer
    private let database: Database

    fileprivate init(_ handle: OpaquePointer, of database: Database) {
        unsafe self.handle = handle
        self.database = database
    }

    deinit { unsafe sqlite3_finalize(handle) }

    // A failed bind (out of memory, too long) leaves NULL or the previous value, so it is an error.
    func bind(_ index: Int32, _ value: Int64) throws(SQLiteError) {
        try check(unsafe sqlite3_bind_int64(handle, index, value))
    }

    func bind(_ index: Int32, _ value: String) throws(SQLiteError) {
        // SQLITE_TRANSIENT is a macro with a cast that Swift doesn't import. SQLite makes a copy.
        let transient = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        try check(
            unsafe sqlite3_bind_text64(handle, index, value, UInt64(value.utf8.count), transient, UInt8(SQLITE_UTF8)))
    }

    /// Binds without a copy: the bytes must stay valid until `reset`. Empty becomes NULL.
    func bind(_ index: Int32, borrowing text: UnsafeRawBufferPointer) throws(SQLiteError) {
        guard text.count > 0 else { return try check(unsafe sqlite3_bind_null(handle, index)) }
        let data = unsafe text.baseAddress?.assumingMemoryBound(to: CChar.self)
        try check(unsafe sqlite3_bind_text64(handle, index, data, UInt64(text.count), nil, UInt8(SQLITE_UTF8)))
    }

    /// - Returns: whether there is a row to read.
    @discardableResult
    func step() throws(SQLiteError) -> Bool {
        let code = unsafe sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE { return false }
        throw database.error(code)
    }

    /// Prepares for the next use. `sqlite3_reset` returns the last step's error again; the caller has it already.
    func reset() {
        unsafe sqlite3_reset(handle)
        unsafe sqlite3_clear_bindings(handle)
    }

    func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(handle, column) }

    /// nil for NULL.
    func text(_ column: Int32) -> String? {
        guard let text = unsafe sqlite3_column_text(handle, column) else { return nil }
        let count = unsafe Int(sqlite3_column_bytes(handle, column))
        return unsafe String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    private func check(_ code: Int32) throws(SQLiteError) {
        if code != SQLITE_OK { throw database.error(code) }
    }
}

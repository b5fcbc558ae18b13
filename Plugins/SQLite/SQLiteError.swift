import CSQLite

/// An SQLite error, and its class.
struct SQLiteError: Error {
    /// The extended result code (sqlite.org/rescode.html).
    var code: Int32
    var message: String

    var primary: Int32 { code & 0xff }

    /// Whether a retry may succeed by itself: another process holds a lock, or the disk is full.
    var passes: Bool {
        [SQLITE_BUSY, SQLITE_LOCKED, SQLITE_FULL, SQLITE_IOERR, SQLITE_NOMEM, SQLITE_INTERRUPT, SQLITE_PROTOCOL]
            .contains(primary)
    }

    /// Whether the row itself is at fault, whatever the state of the database.
    var blamesRow: Bool { [SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH].contains(primary) }
}

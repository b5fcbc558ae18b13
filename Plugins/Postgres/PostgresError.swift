/// An error of PostgreSQL or of the connection.
struct PostgresError: Error {
    enum Kind {
        /// The row itself is at fault.
        case row
        /// A retry on the same connection may succeed.
        case passing
        /// The connection is lost, or the table, a permission or the database is not as it should be: the plugin
        /// connects again, and checks.
        case connection
    }

    /// postgresql.org/docs/current/errcodes-appendix.html; nil: the connection is lost.
    var state: String?
    var message: String

    var kind: Kind {
        guard let state else { return .connection }
        switch state.prefix(2) {
        // Bad values, violated constraints, limits (a row too long for an index, JSON nested too deeply), and what
        // triggers raise: PL/pgSQL, external routines, a view's check option, a subquery with several rows.
        case "22", "23", "54", "P0", "38", "39", "44", "21": return .row
        // Serialization failure, deadlock; disk full, out of memory.
        case "40", "53": return .passing
        default:
            // Lock timeout; statement timeout.
            return state == "55P03" || state == "57014" ? .passing : .connection
        }
    }

    /// Whether the row is there already, or another row with its value in a unique index.
    var isDuplicate: Bool { state == "23505" }
}

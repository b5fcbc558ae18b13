import Telemetry

struct FileChangedOutside: NamedEvent {
    enum Change: Sendable {
        case gone, replaced, truncated, grown

        var words: String {
            switch self {
            case .gone: "was renamed or removed by another process; continuing in a new file"
            case .replaced:
                "is not the file written to until now (another process may have renamed or replaced it);"
                    + " continuing in the new file"
            case .truncated: "was truncated by another process; continuing at its end"
            case .grown: "was written to by another process; continuing at its end"
            }
        }
    }

    static let name = "file_changed_outside"
    static let messageID = "c7e3a7ea37025690abc8304fe5542478"
    var destination: String
    var path: String
    var change: Change
    var level: Level { .notice }
    var fields: [LogField] { [.destination(destination), .file(path)] }
    var message: String { "destination \(destination): \(path) \(change.words)" }
}

struct FileRecordsLost: NamedEvent {
    static let name = "file_records_lost"
    static let messageID = "267a9e4cc3ec549ab4abc125077bb146"
    var destination: String
    var path: String
    var level: Level { .warning }
    var fields: [LogField] { [.destination(destination), .file(path)] }
    var message: String {
        "destination \(destination): \(path) is missing or damaged; it records the files' lengths at the last cursor;"
            + " events written since then may be in the files twice"
    }
}

struct FileTailKept: NamedEvent {
    static let name = "file_tail_kept"
    static let messageID = "83590cfe34494d6c802dd201cbe17a3f"
    var destination: String
    var path: String
    var copy: String
    var bytes: Int
    var level: Level { .warning }
    var fields: [LogField] { [.destination(destination), .file(copy), .count(bytes)] }
    var message: String {
        "destination \(destination): the journal may lack events of the last \(bytes) bytes of \(path), because it is"
            + " an older copy or a power cut took its newest events; the bytes were moved to \(copy)"
    }
}

struct OldFilesRemoved: NamedEvent {
    static let name = "old_files_removed"
    static let messageID = "5664bfb3c8415a58b36e90b28a5f758e"
    var destination: String
    var files: Int
    var bytes: Int
    /// The path of the last file removed.
    var path: String
    var level: Level { .notice }
    var fields: [LogField] { [.destination(destination), .file(path), .count(files)] }
    var message: String {
        "destination \(destination): removed \(files == 1 ? path : "\(files) old files, the last one \(path)"),"
            + " \(bytes) bytes, as keep requires"
    }
}

struct OldFilesStay: NamedEvent {
    static let name = "old_files_stay"
    static let messageID = "ee0b8bcb115e523094c4bfaf3e0d6f9a"
    var destination: String
    var cause: String
    var level: Level { .warning }
    var fields: [LogField] { [.destination(destination), .reason(cause)] }
    var message: String { "destination \(destination): cannot find or remove old files, so they stay: \(cause)" }
}

struct NewFilesLimited: NamedEvent {
    static let name = "new_files_limited"
    static let messageID = "9be07f3198a15a49a8dbb88e4afff7c3"
    var destination: String
    var limit: Int
    var path: String
    var level: Level { .warning }
    var fields: [LogField] { [.destination(destination), .file(path), .count(limit)] }
    var message: String {
        "destination \(destination): events created \(limit) \(limit == 1 ? "file" : "files") in this hour,"
            + " the limit of new_files; until the next hour, events for other new files are written to \(path)"
    }
}

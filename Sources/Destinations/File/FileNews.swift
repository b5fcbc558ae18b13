import Telemetry

struct FileChangedOutside: NamedEvent {
    enum Change: Sendable {
        case gone, replaced, truncated, grown

        var words: String {
            switch self {
            case .gone: "was renamed or removed by somebody else; going on in a new file"
            case .replaced: "is another file than the one written to until now (renamed, removed, made anew by somebody else?); going on with it"
            case .truncated: "was cut shorter by somebody else; going on at its end"
            case .grown: "was written to by somebody else; going on at its end"
            }
        }
    }

    static let name = "file_changed_outside"
    var destination: String
    var path: String
    var change: Change
    var level: Level { .notice }
    var message: String { "destination \(destination): \(path) \(change.words)" }
}

struct FileRecordsLost: NamedEvent {
    static let name = "file_records_lost"
    var destination: String
    var path: String
    var level: Level { .warning }
    var message: String {
        "destination \(destination): \(path), which tells how long its files were when its cursor was kept, is gone or damaged; events that were written since may stand in them twice"
    }
}

struct OldFilesRemoved: NamedEvent {
    static let name = "old_files_removed"
    var destination: String
    var files: Int
    var bytes: Int
    /// The last of them.
    var path: String
    var level: Level { .notice }
    var message: String {
        "destination \(destination): removed \(files == 1 ? path : "\(files) old files, \(path) the last of them"), \(bytes) bytes, as keep asks"
    }
}

struct OldFilesStay: NamedEvent {
    static let name = "old_files_stay"
    var destination: String
    var cause: String
    var level: Level { .warning }
    var message: String { "destination \(destination): old files cannot be looked through or removed, and stay: \(cause)" }
}

struct NewFilesLimited: NamedEvent {
    static let name = "new_files_limited"
    var destination: String
    var limit: Int
    var path: String
    var level: Level { .warning }
    var message: String {
        "destination \(destination): events have made \(limit) files within the hour (new_files); until it is over, those that call for another go to \(path)"
    }
}

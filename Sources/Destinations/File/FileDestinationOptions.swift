import Events

/// What the operator can say about a file destination.
package struct FileDestinationOptions: Sendable, Equatable {
    package enum Compression: Sendable, Equatable { case none, gzip, zstd }

    /// A part of the path.
    package enum PathPiece: Sendable, Equatable {
        /// strftime(3) conversions in it are filled in from each event's receive time.
        case text(String)
        /// The value of this field of what is written, encoded so that it is part of one name (`PathValue`).
        case value(FieldPath)
    }

    package enum Format: Sendable, Equatable {
        /// A line of JSON for each event.
        case lines
        /// A row for each event, below a header: its fields of these names.
        case csv(columns: [String])
    }

    /// When what was written is made durable with fdatasync(2). Whatever is chosen, kill -9 neither loses
    /// nor repeats anything.
    package enum Sync: Sendable, Equatable {
        /// Before a batch counts as delivered.
        case always
        /// At each checkpoint of the worker's, while delivery goes on; the cursor waits for it.
        case atCheckpoints
        /// When the system likes: a power cut may lose what the cursor has passed, or repeat it.
        case never
    }

    /// Which old files stay; nil: however many, old or large. Old is what is not written to any more.
    package struct Keep: Sendable, Equatable {
        package var files: Int?
        package var time: Duration?
        package var size: Int?

        package init(files: Int? = nil, time: Duration? = nil, size: Int? = nil) {
            self.files = files
            self.time = time
            self.size = size
        }
    }

    /// All of them together begin with a slash.
    package var path: [PathPiece]
    package var compression: Compression
    package var format = Format.lines
    /// Bytes: a file that the next write would make larger is renamed first.
    package var rotateSize: Int?
    /// Length of the time windows, counted from 1970-01-01 UTC. The first event received in a later
    /// window than the file's renames the file.
    package var rotateEvery: Duration?
    /// IANA name of the zone that the conversions are filled in for; nil: UTC.
    package var timezone: String?
    package var sync = Sync.atCheckpoints
    package var keep = Keep()
    /// Files that are open at the same time.
    package var openFiles = 128
    /// Files that events' values may have made in an hour; what comes beyond that goes to a file of the
    /// value `_overflow`.
    package var newFiles = 10_000

    package init(
        path: [PathPiece], compression: Compression = .none, rotateSize: Int? = nil, rotateEvery: Duration? = nil,
        timezone: String? = nil
    ) {
        self.path = path
        self.compression = compression
        self.rotateSize = rotateSize
        self.rotateEvery = rotateEvery
        self.timezone = timezone
    }

    package init(
        path: String, compression: Compression = .none, rotateSize: Int? = nil, rotateEvery: Duration? = nil,
        timezone: String? = nil
    ) {
        self.init(
            path: [.text(path)], compression: compression, rotateSize: rotateSize, rotateEvery: rotateEvery,
            timezone: timezone)
    }
}

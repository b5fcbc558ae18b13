import Events

/// The options of a file destination.
package struct FileDestinationOptions: Sendable, Equatable {
    package enum Compression: Sendable, Equatable { case none, gzip, zstd }

    /// A part of the path.
    package enum PathPiece: Sendable, Equatable {
        /// Text whose strftime(3) conversions are filled in from each event's receive time.
        case text(String)
        /// The value of this field of the written event, encoded so that it stays within one name (`PathValue`).
        case value(FieldPath)
    }

    package enum Format: Sendable, Equatable {
        /// One line of JSON per event.
        case lines
        /// A header, then one row per event with its fields of these names.
        case csv(columns: [String])
    }

    /// When writes are made durable with fdatasync(2). With any choice, kill -9 neither loses nor repeats an event.
    package enum Sync: Sendable, Equatable {
        /// Before a batch counts as delivered.
        case always
        /// At each of the worker's checkpoints, while delivery continues. The cursor waits for the sync.
        case atCheckpoints
        /// When the kernel writes them back: a power cut may lose events below the cursor, or repeat events.
        case never
    }

    /// Which old files to keep; nil: no limit. A file is old once it is no longer written to.
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

    /// The joined pieces begin with a slash.
    package var path: [PathPiece]
    package var compression: Compression
    package var format = Format.lines
    /// Bytes. A file that the next write would make larger is renamed first.
    package var rotateSize: Int?
    /// The length of the time windows, which are counted from 1970-01-01 UTC. An event received in a later window than
    /// the file's renames the file.
    package var rotateEvery: Duration?
    /// The IANA name of the time zone for the conversions; nil: UTC.
    package var timezone: String?
    package var sync = Sync.atCheckpoints
    package var keep = Keep()
    /// The most files that are open at the same time.
    package var openFiles = 128
    /// The most files that events' values may create in one hour. Later events are written to the file of the value
    /// `_overflow`.
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

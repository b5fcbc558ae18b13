/// What the operator can say about a file destination.
package struct FileDestinationOptions: Sendable, Equatable {
    package enum Compression: Sendable, Equatable { case none, gzip, zstd }

    /// Absolute; strftime(3) conversions in it are filled in from each event's receive time.
    package var path: String
    package var compression: Compression
    /// Bytes: a file that the next write would make larger is renamed first.
    package var rotateSize: Int?
    /// Length of the time windows, counted from 1970-01-01 UTC. The first event received in a later
    /// window than the file's renames the file.
    package var rotateEvery: Duration?
    /// IANA name of the zone that the conversions are filled in for; nil: UTC.
    package var timezone: String?

    package init(
        path: String, compression: Compression = .none, rotateSize: Int? = nil, rotateEvery: Duration? = nil,
        timezone: String? = nil
    ) {
        self.path = path
        self.compression = compression
        self.rotateSize = rotateSize
        self.rotateEvery = rotateEvery
        self.timezone = timezone
    }
}

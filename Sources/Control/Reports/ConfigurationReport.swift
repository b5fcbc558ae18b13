/// The answer to `GET /configuration`: the files of the running configuration, as they were read when it was applied,
/// and whether the files on disk differ now. Secrets are in files of their own, which are not part of it.
package struct ConfigurationReport: Codable, Sendable, Equatable {
    package struct File: Codable, Sendable, Equatable {
        package enum Kind: String, Codable, Sendable {
            /// The main file, or a file of conf.d.
            case configuration
            case plan
            /// One of the user's own presets.
            case preset
        }

        package enum State: String, Codable, Sendable {
            /// The file on disk is the one that runs.
            case same
            case changed
            /// It is on disk, but does not belong to the running configuration.
            case added
            /// It belongs to the running configuration, but is no longer on disk.
            case removed
            /// It belongs to the running configuration, and cannot be read now.
            case unreadable
            /// The files are too large to be compared.
            case unknown
        }

        package var path: String
        package var kind: Kind
        package var state: State
        /// The text that runs; nil: the file is `added`, or its state is `unknown`.
        package var running: String?
        /// The text on disk; nil: it is equal to `running`, or there is none, or the answer has no room for it.
        package var onDisk: String?
        /// Why a text is missing, for a person.
        package var problem: String?

        package init(path: String, kind: Kind, state: State) {
            self.path = path
            self.kind = kind
            self.state = state
        }

        enum CodingKeys: String, CodingKey {
            case path, kind, state, running, problem
            case onDisk = "on_disk"
        }
    }

    /// The main file, as given to the daemon.
    package var file: String
    /// When the configuration was read that runs now.
    package var appliedAt: String
    /// Whether any file on disk differs from the running configuration.
    package var differs: Bool
    /// In the order in which they are merged, then the tracking plan and the presets, then files that are no longer on
    /// disk.
    package var files: [File]

    package init(file: String, appliedAt: String, differs: Bool, files: [File]) {
        self.file = file
        self.appliedAt = appliedAt
        self.differs = differs
        self.files = files
    }

    enum CodingKeys: String, CodingKey {
        case file, differs, files
        case appliedAt = "applied_at"
    }
}

import DaemonConfiguration
import Platform

/// Checks whether other users may read secrets, or change files that the daemon obeys: secrets and their directory, the
/// configuration's files, and the directories of both. All findings are warnings.
struct AccessCheck {
    let read: ReadConfiguration
    let diagnostics: Diagnostics
    /// Users who may own such files: root, the daemon's user, and the user who runs the check.
    private let trusted: Set<UInt32>

    /// The user of the shipped service.
    static let daemonUser = "penstock"

    init(read: ReadConfiguration, diagnostics: Diagnostics, caller: UInt32 = Accounts.effectiveUserID) {
        self.read = read
        self.diagnostics = diagnostics
        let daemon = (try? Accounts.userID(named: Self.daemonUser)) ?? nil
        trusted = Set([0, caller] + (daemon.map { [$0] } ?? []))
    }

    func run() {
        var directories: Set<String> = []
        for start in read.starts {
            check(start.file, "this file of the configuration", at: start)
            let directory = ConfigurationFile.directory(of: start.file)
            if directories.insert(directory).inserted {
                check(directory, "the directory of this file, \(directory),", at: start)
            }
        }
        for file in read.files where !read.starts.contains(where: { $0.file == file }) {
            check(file, "this file of the configuration", at: Place(file: file))
        }
        if let directory = read.secretsDirectory {
            check(directory, "the secrets' directory", at: read.place(of: ["secrets", "directory"]), isSecret: true)
        }
        for secret in read.secretFiles {
            check(secret.path, "the file of the secret \(secret.name)", at: secret.place, isSecret: true)
        }
        checkKeys()
    }

    private func checkKeys() {
        for source in read.configuration.sources {
            guard case .file(let key)? = source.http?.tls?.key else { continue }
            check(key, "this private key", at: read.place(of: ["sources", source.name, "tls", "key"]), isSecret: true)
        }
        for destination in read.configuration.destinations {
            guard case .http(let http) = destination.kind, let key = http.tls.key else { continue }
            check(
                key, "this private key", at: read.place(of: ["destinations", destination.name, "tls", "key"]),
                isSecret: true)
        }
    }

    private func check(_ path: String, _ what: String, at place: Place, isSecret: Bool = false) {
        guard let access = FileAccess(path) else { return }
        let absolute = absolutePath(path, in: ".")
        if FileAccess.isReachableByOthers(absolute) {
            if access.isWritableByOthers, !(access.isDirectory && access.isSticky) {
                diagnostics.warning(
                    at: place, "every user of this machine can change \(what)", hint: "chmod o-w \(absolute)")
            }
            if isSecret, access.isReadableByOthers {
                diagnostics.warning(
                    at: place, "every user of this machine can read \(what)", hint: "chmod o-rwx \(absolute)")
            }
        }
        if !trusted.contains(access.owner) {
            let owner = Accounts.userName(access.owner) ?? "the user \(access.owner)"
            diagnostics.warning(
                at: place, "\(what) belongs to \(owner), who can change it", hint: "chown root \(absolute)")
        }
    }
}

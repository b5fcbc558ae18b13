import Foundation

/// The files in conf.d beside the configuration: those that are read, and those that are not.
struct ConfigurationFragments {
    /// A file of conf.d that is not read.
    struct Unread {
        var path: String
        /// Why, without a full stop.
        var reason: String
        /// nil: the name shows that the file is not meant to be read (a backup, an example, a hidden file).
        var hint: String?
    }

    /// The most files in one directory.
    static let maximumFiles = 1_000
    /// Name endings with which editors, package managers and people set a file aside.
    private static let setAside = [
        "~", ".bak", ".orig", ".old", ".off", ".disabled", ".example", ".sample", ".save", ".swp", ".tmp", ".rej",
        ".md", ".txt",
    ]
    private static let setAsideByPackages = [".dpkg-", ".ucf-", ".rpm"]

    /// In the order in which they are merged.
    private(set) var paths: [String] = []
    /// In name order.
    private(set) var unread: [Unread] = []

    /// - Parameter file: the main configuration file.
    init(besides file: String, _ diagnostics: Diagnostics) {
        let directory = ConfigurationFile.directory(of: file) + "/conf.d"
        guard FileManager.default.fileExists(atPath: directory) else { return }
        do {
            let names = try FileManager.default.contentsOfDirectory(atPath: directory).sorted {
                $0.utf8.lexicographicallyPrecedes($1.utf8)
            }
            guard names.count(where: Self.isRead) <= Self.maximumFiles else {
                diagnostics.error(
                    at: Place(file: directory), "holds more than \(Self.maximumFiles) files",
                    hint: "join some of them into one")
                return
            }
            paths = names.filter(Self.isRead).map { "\(directory)/\($0)" }
            unread = names.filter { !Self.isRead($0) }.prefix(Self.maximumFiles).map { Self.unread($0, in: directory) }
        } catch {
            diagnostics.error(at: Place(file: directory), "cannot be read: \(ConfigurationFile.reason(error))")
        }
        for file in unread where file.hint != nil {
            diagnostics.warning(at: Place(file: file.path), "this file is not read: \(file.reason)", hint: file.hint)
        }
    }

    private static func isRead(_ name: String) -> Bool { name.hasSuffix(".yaml") && !name.hasPrefix(".") }

    private static func unread(_ name: String, in directory: String) -> Unread {
        let path = "\(directory)/\(name)"
        if name.hasPrefix(".") { return Unread(path: path, reason: "its name begins with a dot") }
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        if attributes?[.type] as? FileAttributeType == .typeDirectory {
            return Unread(path: path, reason: "it is a directory", hint: "move its files to \(directory)/NAME.yaml")
        }
        let reason = "the files that are read have names that end in .yaml"
        guard !isSetAside(name) else { return Unread(path: path, reason: reason) }
        return Unread(
            path: path, reason: reason,
            hint: "rename it to \(stem(name)).yaml; to keep it here unread, rename it to \(name).disabled")
    }

    private static func isSetAside(_ name: String) -> Bool {
        let lower = name.lowercased()
        return lower.hasPrefix("readme") || setAside.contains(where: lower.hasSuffix)
            || setAsideByPackages.contains(where: lower.contains)
            || (lower.hasPrefix("#") && lower.hasSuffix("#"))
    }

    /// The name without the extension that names a file type.
    private static func stem(_ name: String) -> String {
        for end in [".yml", ".yaml", ".json", ".conf", ".cfg"]
        where name.lowercased().hasSuffix(end) && name.count > end.count {
            return String(name.dropLast(end.count))
        }
        return name
    }
}

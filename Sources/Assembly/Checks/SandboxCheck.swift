import DaemonConfiguration
import Destinations
import Platform

/// Checks the paths that a configuration writes to, the certificates that it reads and the addresses that it listens at
/// against the service's sandbox. The disk alone does not show such errors: outside the service, the same path may be
/// writable.
struct SandboxCheck {
    let read: ReadConfiguration
    let sandbox: UnitSandbox
    let pluginPaths: [PluginPath]
    let diagnostics: Diagnostics

    func run() {
        let configuration = read.configuration
        for source in configuration.sources { check(source) }
        if let metrics = configuration.control.metrics { check(metrics, ["control", "metrics"]) }
        switch configuration.control.page {
        case .address(let address): check(address, ["control", "page"])
        case .socket(let path): check(Path.directory(of: path), ["control", "page"])
        case nil: break
        }
        check(configuration.journal.directory, ["journal", "directory"])
        for destination in configuration.destinations {
            guard case .file(let file) = destination.kind, !file.path.text.isEmpty else { continue }
            check(
                FileDestination.fixedDirectory(FileDestinationOptions(file)),
                ["destinations", destination.name, "file"])
        }
        for path in pluginPaths {
            check(Path.directory(of: path.path), path.place)
        }
    }

    private func check(_ directory: String, _ keys: [String]) {
        guard !read.isBroken(keys), !directory.isEmpty, let obstacle = sandbox.obstacle(toWriting: resolved(directory))
        else { return }
        let place = read.place(of: keys)
        let service = ServiceUnit.service
        switch obstacle {
        case .readOnly(let setting):
            diagnostics.error(
                at: place, "\(service) may not write in \(directory): its sandbox has \(setting)",
                hint: Self.remedy(directory), isOfMachine: true)
        case .hidden(let setting):
            diagnostics.error(
                at: place, "\(service) cannot access \(directory): its sandbox has \(setting)",
                hint: "choose a directory below /var/lib/penstock; or change \(setting) with: systemctl edit penstock",
                isOfMachine: true)
        case .ownCopy(let setting):
            diagnostics.warning(
                at: place,
                "\(service) gets its own private \(directory), which is deleted when it stops: its sandbox has"
                    + " \(setting)",
                hint: "choose a directory below /var/lib/penstock")
        }
    }

    private func check(_ source: Configuration.Source) {
        guard let http = source.http else { return }
        let keys = ["sources", source.name]
        check(http.address, keys + ["http"])
        guard let tls = http.tls else { return }
        checkReading(tls.certificate, keys + ["tls", "certificate"])
        if case .file(let path) = tls.key { checkReading(path, keys + ["tls", "key"]) }
        if let path = tls.clientCA { checkReading(path, keys + ["tls", "client_ca"]) }
    }

    private func check(_ address: SocketAddress, _ keys: [String]) {
        guard !read.isBroken(keys), let obstacle = sandbox.network.obstacle(toListeningAt: address) else { return }
        diagnostics.error(
            at: read.place(of: keys), "\(ServiceUnit.service) cannot serve \(address): \(obstacle.reason)",
            hint: obstacle.remedy, isOfMachine: true)
    }

    private func checkReading(_ path: String, _ keys: [String]) {
        let real = SystemDisk().realPath(path) ?? path
        let setting: String
        switch sandbox.obstacle(toWriting: real) {
        case .hidden(let name), .ownCopy(let name): setting = name
        case .readOnly, nil: return
        }
        diagnostics.error(
            at: read.place(of: keys), "\(ServiceUnit.service) cannot read \(path): its sandbox has \(setting)",
            hint: "put the file below /etc/penstock; or change \(setting) with: systemctl edit penstock",
            isOfMachine: true)
    }

    static func remedy(_ directory: String) -> String {
        "install -d -o penstock -g penstock -m 750 \(directory); "
            + "systemctl edit penstock, and in [Service] ReadWritePaths=\(directory); "
            + "systemctl restart penstock"
    }

    /// The deepest existing directory may be a symbolic link.
    private func resolved(_ directory: String) -> String {
        var there = directory
        while there != "/" {
            if let real = SystemDisk().realPath(there) { return real + directory.dropFirst(there.count) }
            there = Path.directory(of: there)
        }
        return directory
    }
}

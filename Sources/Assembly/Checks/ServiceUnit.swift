import Foundation
import Platform

/// The service as systemd has loaded it, according to `systemctl show`. Used by `penstock check` outside the service.
package struct ServiceUnit {
    package static let service = "penstock.service"
    package static let socket = "penstock.socket"
    package static let datagramSocket = "penstock-datagram.socket"

    /// The configuration that the service starts with.
    package let configurationFile: String
    /// Sockets that systemd passes, by the name of the source (FileDescriptorName=).
    package let sockets: [String: [PassedSocketFile]]
    package let sandbox: UnitSandbox

    private static let properties = ["LoadState", "ExecStart", "TriggeredBy"] + UnitSandbox.properties
    private static let socketProperties = [
        "LoadState", "ActiveState", "UnitFileState", "FileDescriptorName", "Listen", "SocketMode", "SocketGroup",
    ]

    /// Returns nil if systemd does not run here, the service does not exist, or it uses another configuration.
    package static func loaded(for configurationFile: String) -> ServiceUnit? {
        let disk = SystemDisk()
        guard disk.isSystemdRunning, let answer = show(service, properties) else { return nil }
        let sockets = (answer["TriggeredBy"]?.first ?? "").split(separator: " ").compactMap {
            show(String($0), socketProperties)
        }
        guard let unit = ServiceUnit(answer, sockets: sockets), let file = disk.realPath(unit.configurationFile),
            file == disk.realPath(configurationFile)
        else { return nil }
        return unit
    }

    /// The socket unit by which systemd itself listens on a path; nil: it does not.
    package static func unitListening(at path: String) -> String? {
        guard SystemDisk().isSystemdRunning else { return nil }
        return [(socket, "Stream"), (datagramSocket, "Datagram")].first { name, kind in
            guard let unit = show(name, ["ActiveState", "Listen"]) else { return false }
            return unit["ActiveState"] == ["active"] && unit["Listen"]?.contains("\(path) (\(kind))") == true
        }?.0
    }

    /// - Parameters:
    ///   - service: the values of each property, as `parse` returns them.
    ///   - units: the same for each socket unit that starts the service.
    package init?(_ service: [String: [String]], sockets units: [[String: [String]]]) {
        guard service["LoadState"] == ["loaded"], let start = service["ExecStart"]?.first else { return nil }
        // `{ path=… ; argv[]=/usr/bin/penstockd --config FILE ; ignore_errors=no ; … }`
        let command = start.components(separatedBy: " ; ").first { $0.hasPrefix("argv[]=") } ?? ""
        let words = command.split(separator: " ").map(String.init)
        let option = words.firstIndex(of: "--config").map { $0 + 1 }
        configurationFile =
            if let option, option < words.count {
                words[option]
            } else {
                words.first { $0.hasPrefix("--config=") }.map { String($0.dropFirst(9)) }
                    ?? "/etc/penstock/penstock.yaml"
            }
        var sockets: [String: [PassedSocketFile]] = [:]
        for unit in units where Self.passesSockets(unit) {
            let group = unit["SocketGroup"]?.first.flatMap { $0.isEmpty ? nil : $0 }
            let mode = unit["SocketMode"]?.first.flatMap { UInt32($0, radix: 8) }
            let name = unit["FileDescriptorName"]?.first ?? ""
            let kind = name.hasSuffix(SocketActivation.datagramSuffix) ? " (Datagram)" : " (Stream)"
            for listen in unit["Listen"] ?? [] where listen.hasSuffix(kind) {
                let path = String(listen.dropLast(kind.count))
                sockets[name, default: []].append(
                    PassedSocketFile(path: path, mode: mode, group: group))
            }
        }
        self.sockets = sockets
        sandbox = UnitSandbox(service)
    }

    /// Whether a socket unit listens, or will after the next boot. One that is installed only does neither.
    private static func passesSockets(_ unit: [String: [String]]) -> Bool {
        unit["LoadState"] == ["loaded"]
            && !(unit["ActiveState"] == ["inactive"] && unit["UnitFileState"] == ["disabled"])
    }

    /// Parses the output of `systemctl show`. A property may have several lines.
    package static func parse(_ text: String) -> [String: [String]] {
        var answer: [String: [String]] = [:]
        for line in text.split(separator: "\n") {
            guard let equals = line.firstIndex(of: "=") else { continue }
            answer[String(line[..<equals]), default: []].append(String(line[line.index(after: equals)...]))
        }
        return answer
    }

    /// Returns nil if systemctl is missing or does not answer within 5 s.
    private static func show(_ unit: String, _ properties: [String]) -> [String: [String]]? {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "timeout", "5", "systemctl", "show", "--property", properties.joined(separator: ","), "--", unit,
        ]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        guard (try? process.run()) != nil, let bytes = try? output.fileHandleForReading.readToEnd() else { return nil }
        process.waitUntilExit()
        return process.terminationStatus == 0 ? parse(String(decoding: bytes, as: UTF8.self)) : nil
    }
}

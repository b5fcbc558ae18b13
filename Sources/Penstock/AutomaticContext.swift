#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#elseif canImport(Darwin)
    import Darwin
#endif

/// The parts of the context that the SDK looks up and adds to every event.
public struct AutomaticContext: OptionSet, Sendable, Hashable {
    /// One bit for each part.
    public let rawValue: Int

    /// Creates a set with the parts of the given bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// `context.library`: this SDK's name and version.
    public static let library = AutomaticContext(rawValue: 1)
    /// `context.app`: the application's name and version from `Analytics.Options.application`. On Apple's platforms
    /// they come from the bundle if the option is not set.
    public static let app = AutomaticContext(rawValue: 2)
    /// `context.os`: the operating system's name and version.
    public static let os = AutomaticContext(rawValue: 4)
    /// `context.host`: the host name. Not part of `all` on Apple's platforms, where it names a person's device.
    public static let host = AutomaticContext(rawValue: 8)
    /// `context.process`: the program's name and the process id.
    public static let process = AutomaticContext(rawValue: 16)
    /// `context.locale`, such as `de-DE`.
    public static let locale = AutomaticContext(rawValue: 32)
    /// `context.timezone`, such as `Europe/Berlin`.
    public static let timezone = AutomaticContext(rawValue: 64)

    /// `context.device`: the model, such as `iPhone17,1`. Only on Apple's platforms.
    public static let device = AutomaticContext(rawValue: 128)

    #if canImport(Darwin)
        /// All parts but the host name, which names a person's device.
        public static let all: AutomaticContext = [.library, .app, .os, .process, .locale, .timezone, .device]
    #else
        /// All parts.
        public static let all: AutomaticContext = [.library, .app, .os, .host, .process, .locale, .timezone]
    #endif

    /// Looks up all parts.
    func members(application: Analytics.Application?) -> [String: PropertyValue] {
        var members: [String: PropertyValue] = [:]
        if contains(.library) {
            members["library"] = ["name": .string(Library.name), "version": .string(Library.version)]
        }
        if contains(.app), let application = application ?? .ofBundle {
            members["app"] = .dictionary(
                [
                    "name": .string(application.name), "version": application.version.map { .string($0) },
                    "build": application.build.map { .string($0) },
                    "instanceId": application.instanceID.map { .string($0) },
                ].compactMapValues { $0 })
        }
        if contains(.os) { members["os"] = OperatingSystem.description }
        let process = ProcessInfo.processInfo
        if contains(.host) { members["host"] = ["name": .string(Machine.hostName)] }
        #if canImport(Darwin)
            if contains(.device) { members["device"] = ["manufacturer": "Apple", "model": .string(Machine.model)] }
        #endif
        if contains(.process) {
            members["process"] = ["name": .string(process.processName), "pid": .int(Int(CurrentProcess.id))]
        }
        if contains(.locale), let locale = Self.currentLocale { members["locale"] = .string(locale) }
        if contains(.timezone), let timezone = Self.currentTimezone { members["timezone"] = .string(timezone) }
        return members
    }

    #if !canImport(Darwin)
        // FoundationEssentials has no locale and time zone: these need Foundation with all of ICU.

        private static var currentLocale: String? {
            let environment = ProcessInfo.processInfo.environment
            let name = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
            guard let language = name?.prefix(while: { $0 != "." && $0 != "@" }), language != "C", language != "POSIX"
            else { return nil }
            return language.split(separator: "_").joined(separator: "-")
        }

        private static var currentTimezone: String? {
            if let name = ProcessInfo.processInfo.environment["TZ"], !name.isEmpty {
                return name.hasPrefix(":") ? String(name.dropFirst()) : name
            }
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/etc/localtime")
            guard let target, let start = target.firstRange(of: "zoneinfo/")?.upperBound else { return "UTC" }
            return String(target[start...])
        }
    #else
        private static var currentLocale: String? { Locale.current.identifier(.bcp47) }
        private static var currentTimezone: String? { TimeZone.current.identifier }
    #endif
}

extension Analytics {
    /// The application that records events, recorded as `context.app`.
    public struct Application: Sendable, Hashable {
        /// The application's name.
        public var name: String
        /// The version, such as `2.1.0`.
        public var version: String?
        /// The build, such as a build number or a commit.
        public var build: String?
        /// The id of this installation from a vendor's SDK, such as Firebase's `Analytics.appInstanceID()`. It is
        /// recorded as `context.app.instanceId`, and the daemon's preset `firebase` needs it.
        public var instanceID: String?

        /// Creates a description of an application.
        public init(name: String, version: String? = nil, build: String? = nil, instanceID: String? = nil) {
            self.name = name
            self.version = version
            self.build = build
            self.instanceID = instanceID
        }

        /// The name and version from the bundle; nil on platforms without bundles.
        static var ofBundle: Application? {
            #if !canImport(Darwin)
                nil
            #else
                (Bundle.main.infoDictionary?["CFBundleName"] as? String).map { name in
                    Application(
                        name: name, version: Bundle.main.infoDictionary?["CFBundleShortVersionString"] as? String,
                        build: Bundle.main.infoDictionary?["CFBundleVersion"] as? String)
                }
            #endif
        }
    }
}

private enum Machine {
    /// The host name that the kernel knows. Unlike `ProcessInfo.hostName` it asks no name server, and on Apple's
    /// platforms it needs no permission for the local network.
    static var hostName: String { field(\.nodename) }

    /// The model of the device, and in the simulator that of the simulated one.
    static var model: String {
        ProcessInfo.processInfo.environment["SIMULATOR_MODEL_IDENTIFIER"] ?? field(\.machine)
    }

    private static func field<Text>(_ path: KeyPath<utsname, Text>) -> String {
        var names = utsname()
        guard unsafe uname(&names) == 0 else { return "" }
        return unsafe withUnsafeBytes(of: names[keyPath: path]) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

private enum OperatingSystem {
    /// `context.os`.
    static var description: PropertyValue {
        #if !canImport(Darwin)
            let release = fields(of: (try? String(contentsOfFile: "/etc/os-release", encoding: .utf8)) ?? "")
            // Rolling distributions have no version.
            let version = release["VERSION_ID"].map { ["version": PropertyValue.string($0)] } ?? [:]
            return .dictionary(version.merging(["name": .string(release["NAME"] ?? "Linux")]) { $1 })
        #else
            let version = ProcessInfo.processInfo.operatingSystemVersion
            let text = "\(version.majorVersion).\(version.minorVersion).\(version.patchVersion)"
            return ["name": .string(name), "version": .string(text)]
        #endif
    }

    #if !canImport(Darwin)
        /// The fields of os-release(5).
        private static func fields(of text: String) -> [String: String] {
            var fields: [String: String] = [:]
            for line in text.split(separator: "\n") {
                guard let equals = line.firstIndex(of: "=") else { continue }
                fields[String(line[..<equals])] = line[line.index(after: equals)...].filter { $0 != "\"" && $0 != "'" }
            }
            return fields
        }
    #elseif os(iOS)
        private static let name = "iOS"
    #elseif os(tvOS)
        private static let name = "tvOS"
    #elseif os(watchOS)
        private static let name = "watchOS"
    #elseif os(visionOS)
        private static let name = "visionOS"
    #else
        private static let name = "macOS"
    #endif
}

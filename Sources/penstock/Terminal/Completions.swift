import ArgumentParser
import Assembly
import DaemonConfiguration
import Control
import Explanation
import Platform

/// The words that a shell offers for an argument when the user presses Tab. An error offers no words, because the user
/// is in the middle of a line.
extension CompletionKind {
    static let configurationFile = file(extensions: ["yaml", "yml"])
    static let eventFile = file(extensions: ["json", "ndjson"])

    /// The destinations of the running daemon.
    static let runningDestination = custom { words, _, _ in
        let control = Completions.value(of: "--control", in: words) ?? Locations.control
        let answer = try? ControlClient(socket: control).get("/status", timeout: Completions.patience)
        return Completions.safe(try? answer?.decode(StatusReport.self).destinations.keys.sorted())
    }

    /// The destinations of a configuration file. No daemon needs to run.
    static let configuredDestination = custom { words, _, _ in
        let file = Completions.value(of: "--config", in: words) ?? Locations.configuration
        return Completions.safe(
            ConfigurationLoader.withStandIns().load(file: file).configuration?.destinations.map(\.name).sorted())
    }

    static let preset = custom { words, _, _ in
        let file = Completions.value(of: "--config", in: words) ?? Locations.configuration
        return Completions.safe(PresetCatalogue.list(besides: file).presets.map(\.name))
    }

    /// The installed plugins, and after the first characters of a path the plugins of that directory.
    static let pluginFile = custom { _, _, prefix in
        guard !prefix.isEmpty else {
            return Completions.safe(Installation.pluginDirectories.flatMap(Completions.plugins))
        }
        let directory = prefix.lastIndex(of: "/").map { String(prefix[...$0]) } ?? ""
        return Completions.safe(Completions.plugins(in: directory))
    }
}

enum Completions {
    /// A user waits for the words at a prompt.
    static let patience = Duration.seconds(1)

    /// The value of an option in the words of an unfinished line. The last one counts.
    static func value(of option: String, in words: [String]) -> String? {
        for index in words.indices.reversed() {
            if words[index].hasPrefix(option + "=") { return String(words[index].dropFirst(option.count + 1)) }
            // bash makes a word of the sign of equality.
            let next = words[words.index(after: index)...].prefix(2).drop { $0 == "=" }.first
            if words[index] == option, let next, !next.isEmpty { return next }
        }
        return nil
    }

    /// bash expands the words that it gets: a file named `$(command).so` would run the command. A word with any other
    /// character than these is not offered.
    static func safe(_ words: [String]?) -> [String] {
        (words ?? []).filter { word in
            !word.isEmpty
                && word.utf8.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
                        UInt8(ascii: "."), UInt8(ascii: "/"):
                        true
                    default: false
                    }
                }
        }
    }

    /// The plugins and directories of a directory, with the directory in front.
    /// - Parameter directory: a path, with or without a slash at its end; empty: the current directory.
    static func plugins(in directory: String) -> [String] {
        let start = directory.isEmpty || directory.hasSuffix("/") ? directory : directory + "/"
        let names = (try? SystemDisk().list(start.isEmpty ? "." : start)) ?? []
        return names.sorted().compactMap { name in
            if name.hasSuffix(".so") { return start + name }
            return (try? SystemDisk().list(start + name)) == nil ? nil : start + name + "/"
        }
    }
}

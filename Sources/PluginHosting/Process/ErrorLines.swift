import CPluginChannel

/// Cuts what a plugin's process writes to its standard error into lines of bounded length.
struct ErrorLines {
    private var line: [UInt8] = []

    /// - Returns: the lines that these bytes complete.
    mutating func take(_ piece: [UInt8]) -> [String] {
        var lines: [String] = []
        for byte in piece {
            if byte != 0x0A { line.append(byte) }
            guard byte == 0x0A || line.count == Int(PLUGIN_CHANNEL_ERROR_LIMIT) else { continue }
            lines.append(String(decoding: line, as: UTF8.self))
            line.removeAll(keepingCapacity: true)
        }
        return lines
    }

    /// - Returns: what follows the last line feed; nil: nothing.
    mutating func finish() -> String? {
        defer { line = [] }
        return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }
}

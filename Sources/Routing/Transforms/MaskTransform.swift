import Events

/// `mask: { paths: [traits.phone], show: 4 }`: masks a text except for its last characters. At most a third of the text
/// stays visible. Numbers become text. Lists, objects and booleans are masked completely. Null is unchanged.
struct MaskTransform: EditingTransform {
    static let declaration = TransformDeclaration.keys(
        "mask", MaskTransform(), shorthand: "paths",
        [
            Setting("paths", \.paths, .list(of: .path), required: true, "fields to mask"),
            Setting("show", \.show, .integer(0...64), "number of visible characters at the end"),
            Setting("with", \.cover, .text("a character"), "replacement for each masked character"),
        ],
        example: "mask: { paths: [traits.phone], show: 4 }", "masks a text except for its last characters")

    var paths: [FieldPath] = []
    var show = 4
    var cover = "*"

    func check() -> [TransformError] {
        let errors = PathRules.errors(inList: paths, of: ["paths"])
        guard cover.unicodeScalars.count == 1 else {
            return errors + [TransformError(["with"], "with must be a single character", hint: "write \"*\"")]
        }
        return errors
    }

    var reads: [FieldPath] { [] }
    var writes: [FieldPath] { paths }
    var rewrites: [FieldPath] { paths }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor {
        let (show, cover) = (show, Array(cover.utf8))
        var decoded: [UInt8] = []
        var masked: [UInt8] = []
        return ValueConversion(paths, &binding) { value, json, output in
            decoded.removeAll(keepingCapacity: true)
            masked.removeAll(keepingCapacity: true)
            switch value.type {
            case .missing, .null: return false
            case .string, .number: decoded.append(contentsOf: json.extracting(value.slice.range))
            case .escapedString:
                guard JSONText.unescape(json.extracting(value.slice.range), into: &decoded) else { return false }
            case .true, .false, .array, .object: decoded.append(contentsOf: [0x20, 0x20])
            }
            // Count bytes that begin a character: all except those of the form 10xxxxxx.
            let count = decoded.count { $0 & 0xC0 != 0x80 }
            let covered = count - min(show, count / 3)
            var seen = 0
            for byte in decoded {
                let begins = byte & 0xC0 != 0x80
                if begins { seen += 1 }
                if seen > covered { masked.append(byte) } else if begins { masked.append(contentsOf: cover) }
            }
            JSONText.appendString(masked.span, to: &output)
            return true
        }
    }
}

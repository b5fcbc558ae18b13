import Routing

// `where:` and `transforms:`, of routes and of destinations.

extension Kind where Value == Rules.Condition {
    static var filter: Kind {
        Kind(.text("a filter"), show: \.text) { node, key, diagnostics in
            if node.scalar?.isMistagged == true { return nil }
            guard let scalar = node.scalar, !scalar.isSecret else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) has to be a filter, not \(node.found)", hint: FilterQuoting.hint)
                return nil
            }
            guard !scalar.isNull else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) has no value",
                    hint: FilterQuoting.cutOff(node) ? FilterQuoting.hint : "write a filter, or remove the key")
                return nil
            }
            if scalar.boolean == true { return .always }
            if scalar.isPlain, ["yes", "no", "on", "off", "y", "n"].contains(scalar.text.lowercased()) {
                diagnostics.error(
                    at: node.place, "\(quoted(scalar.text)) is text to YAML 1.2, and no filter",
                    hint: "write true or false")
                return nil
            }
            do throws(FilterError) {
                return .init(filter: try Filter(parsing: scalar.text), text: scalar.text)
            } catch {
                diagnostics.error(
                    at: node.place(of: error), error.message,
                    hint: FilterQuoting.cutOff(node) ? FilterQuoting.hint : error.hint)
                return nil
            }
        }
    }
}

extension YAMLNode {
    /// Where a filter's or template's error is in the file: the error counts bytes of the scalar's
    /// text, a file's columns are characters.
    func place(of error: FilterError) -> Place {
        guard let bytes = scalar?.text.utf8 else { return place }
        let start = max(0, min(error.column, bytes.count))
        let end = start + max(0, min(error.length, bytes.count - start))
        // Bytes that begin a character: all but those of the form 10xxxxxx.
        let before = bytes.prefix(start).count { $0 & 0xC0 != 0x80 }
        let within = bytes.dropFirst(start).prefix(end - start).count { $0 & 0xC0 != 0x80 }
        return ScalarPlaces.place(of: before, length: within, in: self)
    }
}

extension Kind where Value == [Rules.Step] {
    /// Names of the contract that later versions bring.
    private static let later = [
        "keep", "drop", "rename", "copy", "move", "to_string", "to_number", "hash", "mask", "redact", "sample",
        "throttle", "dedupe", "name_case", "rename_events", "flatten", "enrich", "timed", "session", "lua",
    ]

    static var transforms: Kind {
        Kind(.list(of: .anything)) { node, key, diagnostics in
            guard let items = node.items else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) has to be a list of transforms, not \(node.found)",
                    hint: "write transforms: [ set: { properties.name: value } ]")
                return nil
            }
            return items.compactMap { step($0, diagnostics) }
        }
    }

    private static func step(_ node: YAMLNode, _ diagnostics: Diagnostics) -> Rules.Step? {
        guard case .map(let entries) = node.content else {
            diagnostics.error(
                at: node.place, "a transform is a map, not \(node.found)",
                hint: "write set: { properties.name: value }")
            return nil
        }
        var operation: SetStep?
        var condition: Rules.Condition?
        var names = 0
        for entry in entries {
            switch entry.key {
            case "where":
                condition = Kind<Rules.Condition>.filter.read(entry.value, entry.key, diagnostics)
            case "set":
                names += 1
                operation = SetStep(entry.value, diagnostics)
            case _ where later.contains(entry.key):
                names += 1
                diagnostics.error(
                    at: entry.place, "the transform \(quoted(entry.key)) is not supported by this version",
                    hint: "remove it")
            default:
                names += 1
                let nearest = NearestName.find(entry.key, among: later + ["set"])
                diagnostics.error(
                    at: entry.place, "unknown transform \(quoted(entry.key))",
                    hint: nearest.map { "did you mean \(quoted($0))?" } ?? "this version has set")
            }
        }
        guard names == 1 else {
            diagnostics.error(
                at: node.place, names == 0 ? "a transform without a name" : "two transforms in one item",
                hint: names == 0 ? "write set: { properties.name: value }" : "put \"- \" before each")
            return nil
        }
        guard let operation else { return nil }
        let text =
            "{\"set\":\(operation.text)" + (condition.map { ",\"where\":\(JSONRendering.string($0.text))" } ?? "") + "}"
        return .init(transform: Transform(.set(operation.transform), where: condition?.filter ?? .always), text: text)
    }
}

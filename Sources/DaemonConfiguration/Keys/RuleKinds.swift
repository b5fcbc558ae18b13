import Routing

// `where:` of routes and destinations.

extension Kind where Value == Rules.Condition {
    static var filter: Kind {
        Kind(.text("a filter"), show: \.text) { node, key, diagnostics in
            if node.scalar?.isReported == true { return nil }
            guard let scalar = node.scalar, !scalar.isSecret else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a filter, not \(node.found)", hint: FilterQuoting.hint)
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
                    at: node.place, "\(quoted(scalar.text)) is text in YAML 1.2, not a filter",
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
    /// The place in the file of an error in a filter or template. The error counts bytes of the scalar's text; columns
    /// of a file count characters.
    func place(of error: FilterError) -> Place {
        guard let bytes = scalar?.text.utf8 else { return place }
        let start = max(0, min(error.column, bytes.count))
        let end = start + max(0, min(error.length, bytes.count - start))
        // Count the bytes that begin a character: all but those of the form 10xxxxxx.
        let before = bytes.prefix(start).count { $0 & 0xC0 != 0x80 }
        let within = bytes.dropFirst(start).prefix(end - start).count { $0 & 0xC0 != 0x80 }
        return ScalarPlaces.place(of: before, length: within, in: self)
    }
}

/// A configuration as read, valid or not, with the places of its values, for checks that need more than its text
/// (plugins, the disk). Values that could not be read have their defaults.
package struct ReadConfiguration: Sendable {
    package let configuration: Configuration
    /// The files that were read.
    package let files: [String]
    /// The first place of each file of the configuration itself: the main file and those of conf.d.
    package let starts: [Place]
    /// The files that secrets were read from, and where each secret is first named.
    package let secretFiles: [(name: String, path: String, place: Place)]
    /// `secrets.directory`.
    package let secretsDirectory: String?
    /// The merged tree, with presets expanded.
    let root: YAMLNode
    /// Keys whose values could not be read: `["destinations", "a", "settings"]`.
    let broken: Set<[String]>

    /// Whether the key is given but its value could not be read.
    package func isBroken(_ keys: [String]) -> Bool { broken.contains(keys) }

    package func isGiven(_ keys: [String]) -> Bool { find(keys) != nil }

    /// The place of a value. If the value is missing, the place of its nearest existing parent's key.
    package func place(of keys: [String]) -> Place {
        find(keys)?.value.place ?? place(ofKey: Array(keys.dropLast()))
    }

    /// The place of a key. If the key is missing, the place of its nearest existing parent's key.
    package func place(ofKey keys: [String]) -> Place {
        keys.isEmpty ? root.place : find(keys)?.key ?? place(ofKey: Array(keys.dropLast()))
    }

    private func find(_ keys: [String]) -> (key: Place, value: YAMLNode)? {
        var node = root
        var place = root.place
        for key in keys {
            switch node.content {
            case .map(let entries):
                guard let entry = entries.first(where: { $0.key == key }) else { return nil }
                (node, place) = (entry.value, entry.place)
            case .list(let items):
                guard let number = Int(key), items.indices.contains(number) else { return nil }
                (node, place) = (items[number], items[number].place)
            case .scalar: return nil
            }
        }
        return (place, node)
    }
}

extension ConfigurationDraft {
    /// The keys whose values could not be read.
    var broken: Set<[String]> {
        var keys: Set<[String]> = []
        func add(_ found: [String: YAMLEntry], below section: [String]) {
            for (key, entry) in found where entry.isBroken {
                keys.insert(section + key.split(separator: ".").map(String.init))
            }
        }
        add(found, below: [])
        for source in sources { add(source.found, below: ["sources", source.name]) }
        for destination in destinations { add(destination.found, below: ["destinations", destination.name]) }
        return keys
    }
}

import Events
import Hashing

/// `hash: { paths: [userId, traits.email], key: !secret pii }`: replaces a field by the SHA-256 of its text in
/// hexadecimal digits, or by its HMAC (RFC 2104) if there is a key. Without a key, anyone can test guesses of a value.
/// Numbers and booleans are hashed as spelled, lists and objects as their JSON. Null is unchanged, and so is an empty
/// `userId` or `anonymousId`, which is no user: its hash would be one user for all.
struct HashTransform: EditingTransform {
    static let declaration = TransformDeclaration.keys(
        "hash", HashTransform(), shorthand: "paths",
        [
            Setting("paths", \.paths, .list(of: .path), required: true, "fields to hash"),
            Setting("key", \.key, .secret, "secret for HMAC; without it, anyone can test guesses of a value"),
        ],
        example: "hash: { paths: [userId, traits.email], key: !secret pii }",
        "replaces fields by their SHA-256, or by their HMAC if there is a key")

    var paths: [FieldPath] = []
    var key: SecretText?

    func check() -> [TransformError] { PathRules.errors(inList: paths, of: ["paths"]) }
    var reads: [FieldPath] { [] }
    var writes: [FieldPath] { paths }
    var rewrites: [FieldPath] { paths }

    private static let ids = [FieldPath(["userId"]), FieldPath(["anonymousId"])]

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor {
        let digest = Digest(key: key.map { Array($0.value.utf8) })
        var decoded: [UInt8] = []
        return ValueConversion(paths, &binding, sparingEmpty: Self.ids) { value, json, output in
            if value.type == .null { return false }
            let text = json.extracting(value.slice.range)
            guard value.type == .escapedString else {
                digest.appendJSON(of: text, to: &output)
                return true
            }
            decoded.removeAll(keepingCapacity: true)
            guard JSONText.unescape(text, into: &decoded) else { return false }
            digest.appendJSON(of: decoded.span, to: &output)
            return true
        }
    }
}

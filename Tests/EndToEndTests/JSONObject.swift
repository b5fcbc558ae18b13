import Foundation

/// The members of a JSON object. Nil: the text is not JSON or not an object.
func jsonObject(_ line: String) -> [String: Any]? {
    (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any]
}

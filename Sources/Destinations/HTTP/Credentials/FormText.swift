import Platform

/// The text of a form: `name=value&name=value`.
enum FormText {
    static func encode(_ fields: [(name: String, value: String)]) -> String {
        fields.map { PercentEncoding.encode($0.name.utf8) + "=" + PercentEncoding.encode($0.value.utf8) }
            .joined(separator: "&")
    }
}

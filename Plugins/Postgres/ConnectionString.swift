import CPostgres
import PenstockPluginKit

/// The setting `dsn`. It may hold a password, which no message and no log line shows.
struct ConnectionString {
    let text: String
    private let secrets: [String]

    /// - Throws: if libpq cannot parse it. Its message may show parts of the text, so it is not passed on.
    init(_ text: String) throws(SinkError) {
        let problem = SinkError(
            """
            settings.dsn: is not a URI or connection string of libpq: write it like \
            postgresql://penstock@db.example.com:5432/analytics or like host=/run/postgresql dbname=analytics, and \
            write special characters in a URI's password as %XX
            """)
        guard !text.utf8.contains(0) else { throw problem }
        guard let options = unsafe PQconninfoParse(text, nil) else { throw problem }
        defer { unsafe PQconninfoFree(options) }
        var secrets: [String] = []
        var option = unsafe options
        while let keyword = unsafe option.pointee.keyword {
            if unsafe ["password", "sslpassword"].contains(String(cString: keyword)),
                let value = unsafe option.pointee.val, unsafe value.pointee != 0
            {
                unsafe secrets.append(String(cString: value))
            }
            unsafe option += 1
        }
        self.text = text
        self.secrets = secrets
    }

    /// A message of libpq on one line, without the password.
    func clean(_ message: String) -> String {
        var result = message.split(whereSeparator: \.isNewline)
            .map { $0.drop(while: \.isWhitespace) }.joined(separator: "; ")
        for secret in secrets {
            result = result.split(separator: secret, omittingEmptySubsequences: false).joined(separator: "***")
        }
        return result
    }
}

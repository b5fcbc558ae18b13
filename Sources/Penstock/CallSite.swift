/// The place of a call that recorded an event.
package struct CallSite: Sendable, Equatable, CustomStringConvertible {
    package var fileID: StaticString
    package var line: UInt

    package init(_ fileID: StaticString, _ line: UInt) {
        self.fileID = fileID
        self.line = line
    }

    /// `Shop/Checkout.swift:12`.
    package var description: String { "\(fileID):\(line)" }

    package static func == (a: CallSite, b: CallSite) -> Bool { a.description == b.description }
}

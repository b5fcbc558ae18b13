import Ingest

extension ClientUser: ExpressibleByIntegerLiteral {
    package init(integerLiteral uid: UInt32) { self = .local(uid) }
}

public protocol ServiceContextKey: Sendable {
    associatedtype Value: Sendable
}

public struct ServiceContext: Sendable {
    @TaskLocal public static var current: ServiceContext?

    public subscript<Key: ServiceContextKey>(key: Key.Type) -> Key.Value? { nil }
}

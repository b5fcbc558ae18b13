import Platform
import Testing

@testable import Destinations

@Suite struct SettlementTableTests {
    private func at(_ nanoseconds: Int64) -> Instant { Instant(nanoseconds: nanoseconds) }

    @Test func `a token is settled once`() {
        var table = SettlementTable<String>()
        let token = table.add("a", deadline: at(10))
        guard case .settled("a") = table.complete(token) else { return #expect(Bool(false), "not settled") }
        guard case .repeated = table.complete(token) else { return #expect(Bool(false), "not repeated") }
        guard case .unknown = table.complete(token + 1) else { return #expect(Bool(false), "not unknown") }
        guard case .unknown = table.complete(0) else { return #expect(Bool(false), "0 is not a token") }
        #expect(table.count == 0)
    }

    @Test func `deadlines expire in order and once`() {
        var table = SettlementTable<String>()
        _ = table.add("a", deadline: at(10))
        _ = table.add("b", deadline: at(20))
        _ = table.add("c", deadline: at(30))
        #expect(table.nextDeadline == at(10))
        let expired = table.expire(at(20)).map(\.batch)
        #expect(expired == ["a", "b"])
        let again = table.expire(at(20))
        #expect(again.isEmpty)
        #expect(table.overdue == 2)
        #expect(table.nextDeadline == at(30))
        #expect(table.count == 3)
    }

    @Test func `an overdue batch is kept until it is completed or withdrawn`() {
        var table = SettlementTable<String>()
        let a = table.add("a", deadline: at(10))
        let b = table.add("b", deadline: at(10))
        _ = table.expire(at(10))
        guard case .late("a") = table.complete(a) else { return #expect(Bool(false), "not late") }
        #expect(table.overdue == 1)
        let isOurs = table.withdraw(b)
        #expect(!isOurs)
        #expect(table.overdue == 0)
        #expect(table.count == 0)
    }

    @Test func `a withdrawn token no longer belongs to the plugin`() {
        var table = SettlementTable<String>()
        let token = table.add("a", deadline: at(10))
        let first = table.withdraw(token)
        let second = table.withdraw(token)
        #expect(first)
        #expect(!second)
        guard case .repeated = table.complete(token) else { return #expect(Bool(false), "still there") }
    }
}

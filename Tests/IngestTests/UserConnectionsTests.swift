import Platform
import Testing

@testable import Ingest

@Suite struct UserConnectionsTests {
    /// Connections with the activity that their event loops would record.
    private struct Users {
        private var users = UserConnections()
        private var activities: [UInt64: ClientActivity] = [:]

        var bytes: Int { users.bytes }
        var closingBytes: Int { users.closingBytes }
        func connections(of user: ClientUser) -> Int { users.connections(of: user) }
        mutating func leave(_ id: UInt64) { users.leave(id) }

        mutating func enter(
            _ id: UInt64, user: ClientUser, limit: Int, at now: Instant, hasEnded: () -> Bool = { false }
        ) -> UserConnections.Decision {
            let activity = ClientActivity(.init(lastByte: now, isIdle: false))
            activities[id] = activity
            return users.enter(id, user: user, limit: limit, at: now, activity: activity, hasEnded: hasEnded)
        }

        mutating func note(
            _ id: UInt64, bytes: Int, lastByte: Instant, isIdle: Bool, limit: Int
        ) -> (victim: UInt64, user: ClientUser, bytes: Int)? {
            activities[id]?.state = ClientActivity.State(lastByte: lastByte, isIdle: isIdle)
            return users.note(id, bytes: bytes, limit: limit)
        }
    }

    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }
    private let plenty = 1 << 30

    @Test func `a connection that has not had a turn yet is not idle`() {
        var users = Users()
        for id in 1...2 { #expect(users.enter(UInt64(id), user: 7, limit: 2, at: at(0)) == .admitted) }
        #expect(users.enter(3, user: 7, limit: 2, at: at(100)) == .refused)
    }

    @Test func `at a user's limit the connection that is idle longest is closed for a new one`() {
        var users = Users()
        for id in 1...3 {
            #expect(users.enter(UInt64(id), user: 7, limit: 3, at: at(Int64(id))) == .admitted)
            _ = users.note(UInt64(id), bytes: 0, lastByte: at(Int64(id)), isIdle: true, limit: plenty)
        }
        _ = users.note(1, bytes: 0, lastByte: at(20), isIdle: true, limit: plenty)
        #expect(users.enter(4, user: 7, limit: 3, at: at(30)) == .replacing(2))
        #expect(users.connections(of: 7) == 3)
    }

    @Test func `a connection with work to do is not closed for a new one`() {
        var users = Users()
        for id in 1...2 {
            _ = users.enter(UInt64(id), user: 7, limit: 2, at: at(0))
            _ = users.note(UInt64(id), bytes: 100, lastByte: at(0), isIdle: false, limit: plenty)
        }
        #expect(users.enter(3, user: 7, limit: 2, at: at(100)) == .refused)
        _ = users.note(2, bytes: 0, lastByte: at(100), isIdle: true, limit: plenty)
        #expect(
            users.enter(3, user: 7, limit: 2, at: at(100)) == .refused, "the connection has only just become idle")
        #expect(users.enter(3, user: 7, limit: 2, at: at(101)) == .replacing(2))
    }

    @Test func `connections that are closed already are admitted beyond the limit, up to the same number`() {
        var users = Users()
        for id in 1...2 { #expect(users.enter(UInt64(id), user: 7, limit: 2, at: at(0)) == .admitted) }
        for id in 3...4 {
            #expect(users.enter(UInt64(id), user: 7, limit: 2, at: at(0), hasEnded: { true }) == .admitted)
        }
        #expect(users.enter(5, user: 7, limit: 2, at: at(0), hasEnded: { true }) == .refused)
        #expect(users.enter(5, user: 7, limit: 2, at: at(0)) == .refused)
        users.leave(3)
        #expect(users.enter(5, user: 7, limit: 2, at: at(0)) == .refused, "that place is for closed connections")
        #expect(users.enter(5, user: 7, limit: 2, at: at(0), hasEnded: { true }) == .admitted)
        users.leave(1)
        #expect(users.enter(6, user: 7, limit: 2, at: at(0)) == .admitted)
        for id in 1...6 { users.leave(UInt64(id)) }
        #expect(users.connections(of: 7) == 0)
    }

    @Test func `a closed connection is not closed for a new one`() {
        var users = Users()
        _ = users.enter(1, user: 7, limit: 1, at: at(0))
        _ = users.enter(2, user: 7, limit: 1, at: at(0), hasEnded: { true })
        _ = users.note(2, bytes: 0, lastByte: at(0), isIdle: true, limit: plenty)
        #expect(users.enter(3, user: 7, limit: 1, at: at(100)) == .refused)
    }

    @Test func `new connections replace idle ones in the order of their idle times`() {
        var users = Users()
        // Each connection sends nothing in its first turn.
        let enter = { (id: UInt64, seconds: Int64) in
            let decision = users.enter(id, user: 7, limit: 200, at: at(seconds))
            if decision != .refused {
                _ = users.note(id, bytes: 0, lastByte: at(seconds), isIdle: true, limit: plenty)
            }
            return decision
        }
        for id in 0..<200 { _ = enter(UInt64(id), Int64(id)) }
        #expect(enter(1000, 300) == .replacing(0))
        _ = users.note(1, bytes: 0, lastByte: at(300), isIdle: true, limit: plenty)
        _ = users.note(2, bytes: 9, lastByte: at(2), isIdle: false, limit: plenty)
        users.leave(3)
        #expect(enter(1001, 301) == .admitted)
        for id in 4..<200 { #expect(enter(UInt64(1000 + id), 301) == .replacing(UInt64(id))) }
        // All other connections are new or have work to do.
        #expect(enter(2000, 301) != .refused)
        #expect(enter(2001, 301) != .refused)
        #expect(enter(2002, 301) == .refused)
        #expect(enter(2003, 303) != .refused)
        #expect(users.connections(of: 7) == 200)
    }

    @Test func `connections count only against their own user's limit, also those of root`() {
        var users = Users()
        for id in 1...10 { _ = users.enter(UInt64(id), user: 1000, limit: 5, at: at(0)) }
        #expect(users.connections(of: 1000) == 5)
        #expect(users.enter(100, user: 0, limit: 5, at: at(0)) == .admitted)
        for id in 101...110 { _ = users.enter(UInt64(id), user: 0, limit: 5, at: at(0)) }
        #expect(users.connections(of: 0) == 5)
    }

    @Test func `above the limit of buffered bytes, the user with the most bytes loses the largest connection`() {
        var users = Users()
        for id in 1...4 { _ = users.enter(UInt64(id), user: id == 4 ? 8 : 7, limit: 100, at: at(0)) }
        #expect(users.note(4, bytes: 400, lastByte: at(0), isIdle: false, limit: 1000) == nil)
        #expect(users.note(1, bytes: 200, lastByte: at(0), isIdle: false, limit: 1000) == nil)
        #expect(users.note(2, bytes: 300, lastByte: at(0), isIdle: false, limit: 1000) == nil)
        let victim = users.note(3, bytes: 250, lastByte: at(0), isIdle: false, limit: 1000)
        #expect(victim?.victim == 2, "user 8 has the largest connection, but user 7 holds more bytes in total")
        #expect(victim?.user == 7)
        #expect(users.bytes == 850)
        #expect(
            users.note(2, bytes: 900, lastByte: at(0), isIdle: false, limit: 1000) == nil, "the connection has left")
        #expect(users.bytes == 850)
    }

    @Test func `evictions follow each other in the order of the users' bytes and of their connections' bytes`() {
        var users = Users()
        for id in 0..<300 {
            _ = users.enter(UInt64(id), user: id < 200 ? 7 : 8, limit: 1000, at: at(0))
            _ = users.note(UInt64(id), bytes: 100 + id, lastByte: at(0), isIdle: false, limit: plenty)
        }
        func grow(_ id: UInt64, to bytes: Int) -> (UInt64, ClientUser)? {
            users.note(id, bytes: bytes, lastByte: at(0), isIdle: false, limit: 0).map { ($0.victim, $0.user) }
        }
        // User 7 has 39,900 bytes, and user 8 has 34,950.
        #expect(grow(0, to: 101)! == (199, 7))
        users.leave(198)
        _ = users.note(197, bytes: 0, lastByte: at(0), isIdle: true, limit: 0)
        #expect(grow(0, to: 102)! == (196, 7), "198 has left, and 197 holds less than before")
        #expect(grow(1, to: 1000)! == (1, 7), "it has become the largest one")
        #expect(grow(250, to: 10_000)! == (250, 8), "its user has become the one with the most")
        for id in stride(from: UInt64(195), to: 190, by: -1) { #expect(grow(0, to: 200 + Int(200 - id))! == (id, 7)) }
    }

    @Test func `the bytes of a connection that must be closed are known until it is closed`() {
        var users = Users()
        for id in UInt64(1)...3 { _ = users.enter(id, user: 7, limit: 10, at: at(0)) }
        func hold(_ id: UInt64, _ bytes: Int) -> UInt64? {
            users.note(id, bytes: bytes, lastByte: at(0), isIdle: false, limit: 100)?.victim
        }
        #expect(hold(1, 60) == nil)
        #expect(users.closingBytes == 0)
        #expect(hold(2, 70) == 2)
        #expect(users.closingBytes == 70)
        #expect(hold(3, 50) == 1)
        #expect(users.bytes == 50)
        #expect(users.closingBytes == 130)
        users.leave(2)
        users.leave(2)
        #expect(users.closingBytes == 60)
        users.leave(1)
        #expect(users.closingBytes == 0)
    }

    @Test func `closed connections count no bytes and no connections`() {
        var users = Users()
        for id in 0..<1000 {
            _ = users.enter(UInt64(id), user: .local(UInt32(id % 7)), limit: 1000, at: at(0))
            _ = users.note(UInt64(id), bytes: id, lastByte: at(0), isIdle: false, limit: 100_000)
        }
        #expect(users.bytes <= 100_000)
        for id in 0..<1000 { users.leave(UInt64(id)) }
        for id in 0..<1000 { users.leave(UInt64(id)) }
        #expect(users.bytes == 0)
        #expect((0..<7).allSatisfy { users.connections(of: .local($0)) == 0 })
    }
}

import Platform
import Testing

@testable import Ingest

@Suite struct ConductTests {
    private func turn(accepted: Int = 0, refused: Int = 0, bytes: Int) -> TurnBudget {
        var turn = TurnBudget(startingAt: Instant(nanoseconds: 0))
        turn.note(bytes: bytes)
        turn.spend(accepted: accepted, refused: refused, at: Instant(nanoseconds: 0))
        return turn
    }

    @Test func `a connection that sends few events at a time is light`() {
        var conduct = Conduct()
        #expect(conduct.standing == .other)
        conduct.note(turn(accepted: 1, bytes: 600), hasMore: false)
        #expect(conduct.standing == .light)
        conduct.note(turn(accepted: 20, bytes: Conduct.lightTurn), hasMore: false)
        #expect(conduct.standing == .light)
        conduct.note(turn(accepted: 20, bytes: Conduct.lightTurn + 1), hasMore: false)
        #expect(conduct.standing == .trusted)
        conduct.note(turn(accepted: 1, bytes: 600), hasMore: true)
        #expect(conduct.standing == .trusted, "input is left")
        conduct.note(turn(bytes: 0), hasMore: false)
        #expect(conduct.standing == .light)
    }

    @Test func `a connection whose lines are refused is not light`() {
        var conduct = Conduct()
        conduct.note(turn(refused: 1, bytes: 10), hasMore: false)
        #expect(conduct.standing == .other && conduct.isSuspect)
        conduct.note(turn(bytes: 10), hasMore: false)
        #expect(conduct.standing == .other)
        conduct.note(turn(accepted: 2, bytes: 10), hasMore: false)
        #expect(conduct.standing == .light && !conduct.isSuspect)
        conduct.note(turn(accepted: 2, refused: 1, bytes: 10), hasMore: false)
        #expect(conduct.standing == .light)
        conduct.note(turn(accepted: 1, refused: 2, bytes: 10), hasMore: false)
        #expect(conduct.standing == .other)
    }
}

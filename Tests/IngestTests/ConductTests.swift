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

    @Test func `only a connection that goes on sending much leaves`() {
        var conduct = Conduct()
        func note(_ count: Int, bytes: Int) {
            for _ in 0..<count { conduct.note(turn(accepted: 1, bytes: bytes), hasMore: false) }
        }
        note(Conduct.heavyTurnsToLeave - 1, bytes: Conduct.lightTurn + 1)
        #expect(!conduct.sendsMuch)
        // Light turns make up for two of them.
        note(Conduct.lightTurnsPerHeavy * 2, bytes: 600)
        note(2, bytes: Conduct.lightTurn + 1)
        #expect(!conduct.sendsMuch)
        note(1, bytes: Conduct.lightTurn + 1)
        #expect(conduct.sendsMuch)
        note(100, bytes: Conduct.lightTurn + 1)
        note(Conduct.lightTurnsToReturn, bytes: 600)
        #expect(conduct.lightTurns == Conduct.lightTurnsToReturn)
        note(Conduct.heavyTurnsToLeave - 1, bytes: Conduct.lightTurn + 1)
        #expect(!conduct.sendsMuch, "it has returned with nothing against it")
        for _ in 0..<100 {
            note(Conduct.lightTurnsPerHeavy - 1, bytes: 600)
            note(1, bytes: Conduct.lightTurn + 1)
            note(1, bytes: 600)
        }
        #expect(!conduct.sendsMuch, "it sends much only now and then")
    }

    @Test func `a connection that is turned away sends much until it may return`() {
        var conduct = Conduct()
        conduct.isTurnedAway()
        #expect(conduct.sendsMuch && conduct.lightTurns == 0)
        for _ in 0..<Conduct.lightTurnsToReturn { conduct.note(turn(accepted: 1, bytes: 600), hasMore: false) }
        #expect(!conduct.sendsMuch)
    }
}

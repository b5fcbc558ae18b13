import Platform
import Testing

@testable import PluginHosting

@Suite struct ProcessorBudgetTests {
    private let start = Instant(nanoseconds: 5_000_000_000)

    @Test func `ten seconds' worth may be used at once, and then the share`() throws {
        var budget = ProcessorBudget(share: 0.5, start)
        #expect(budget.renew(used: .zero, start) == 5)
        #expect(budget.renew(used: .seconds(4), start + .seconds(4)) == 7)
        // 4 s of the share were added to the one second that was left.
        #expect(budget.renew(used: .seconds(6), start + .seconds(12)) == 11)
        #expect(budget.renew(used: .seconds(20), start + .seconds(13)) == nil)
    }

    @Test func `a long idle time saves no more than that`() {
        var budget = ProcessorBudget(share: 2, start)
        #expect(budget.renew(used: .seconds(1), start + .seconds(1_000_000)) == 21)
    }

    @Test func `a small share has a whole second`() {
        var budget = ProcessorBudget(share: 0.01, start)
        #expect(budget.renew(used: .zero, start) == 1)
        #expect(!budget.isDue(start + .milliseconds(499)))
        #expect(budget.isDue(start + .milliseconds(500)))
    }
}

import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct ConformanceSuiteTests {
    @Test func `What is excluded is left out, with its reason`() {
        let suite = DecoratorLaw.all.excluding(.statuses, .errors, because: "it throws").excluding(
            .release, because: "no")

        #expect(suite.count == DecoratorLaw.all.count - 3)
        #expect(!suite.contains(.statuses) && !suite.contains(.errors) && !suite.contains(.release))
        #expect(suite.exclusions.map(\.excluded) == [.statuses, .errors, .release])
        #expect(suite.exclusions.map(\.reason) == ["it throws", "it throws", "no"])
        #expect("\(suite.exclusions[2])" == "discarded responses are released: no")
        #expect(DecoratorLaw.all.exclusions.isEmpty)
    }

    @Test func `Every case has a name of its own and a demand that is a sentence`() {
        #expect(Set(DecoratorLaw.all.map(\.name)).count == DecoratorLaw.all.count)
        #expect(Set(TransportCase.all.map(\.name)).count == TransportCase.all.count)
        for demand in DecoratorLaw.all.map(\.demand) + TransportCase.all.map(\.demand) {
            #expect(demand.hasSuffix("."), "\(demand)")
        }
    }

    @Test func `A case that cannot be tried is skipped with a reason`() async throws {
        let outcome = try await TransportCase.connectionLimit.check { _ in StubConnection() }

        #expect(outcome == .skipped("The transport declares no setting connectionsPerHost of 64 or less."))
    }

    @Test func `A case that fails says how`() async throws {
        let error = try await #require(throws: ConformanceFailure.self) {
            try await TransportCase.setCookies.check { _ in StubConnection(Response(status: .ok)) }
        }

        #expect(error.description.hasPrefix("The cookies: [] in place of"))
    }

    @Test func `A clock on which nobody waits moves to the deadlines`() async throws {
        let clock = ImpatientClock()
        let (start, date) = (clock.now, clock.date)

        try await clock.sleep(for: .seconds(3600))
        try await clock.sleep(until: start, tolerance: nil)

        #expect(start.duration(to: clock.now) == .seconds(3600))
        #expect(clock.date.timeIntervalSince(date) == 3600)
    }

    @Test func `A clock on which nobody waits throws in a cancelled task`() async {
        let clock = ImpatientClock()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await clock.sleep(for: .seconds(1))
        }
        task.cancel()

        await #expect(throws: CancellationError.self) { try await task.value }
    }
}

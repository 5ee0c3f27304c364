import Decorum
import DecorumConformance
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct ConformanceSuiteTests {
    @Test func `Excluded cases are left out, with their reason`() {
        let suite = DecoratorLaw.all.excluding(.statuses, .errors, because: "it throws").excluding(
            .release, because: "no")

        #expect(suite.count == DecoratorLaw.all.count - 3)
        #expect(!suite.contains(.statuses) && !suite.contains(.errors) && !suite.contains(.release))
        #expect(suite.exclusions.map(\.excluded) == [.statuses, .errors, .release])
        #expect(suite.exclusions.map(\.reason) == ["it throws", "it throws", "no"])
        #expect("\(suite.exclusions[2])" == "release: no")
        #expect(DecoratorLaw.all.exclusions.isEmpty)
    }

    @Test func `A case is found by its name`() async throws {
        #expect(!TransportCase.all.excluding("echo over HTTP/2", because: "no").contains(TransportCase.echo.overHTTP2))
        let unknown: TransportCase = "unknown"
        await #expect(throws: ConformanceFailure.self) { try await unknown.check { _ in StubConnection() } }
    }

    @Test func `Every case has a unique name`() {
        #expect(Set(DecoratorLaw.all.map(\.name)).count == DecoratorLaw.all.count)
        #expect(Set(TransportCase.all.map(\.name)).count == TransportCase.all.count)
    }

    @Test func `A case that cannot be tried is skipped with a reason`() async throws {
        let outcome = try await TransportCase.connectionLimit.check { _ in StubConnection() }

        #expect(outcome == .skipped("The transport declares no setting connectionsPerHost of 64 or less."))
    }

    @Test func `An error of the subject is reported with the case that it breaks, and kept`() async throws {
        let thrown = TransportError(.other, at: .connecting)
        let broken = try await #require(throws: ConformanceFailure.self) {
            _ = try await TransportCase.fixedLength.check { _ in ClosureConnection { _ in throw thrown } }
        }
        #expect(broken.name == TransportCase.fixedLength.name)
        #expect(broken.underlying is TransportError)
        #expect(broken.sentence == "It threw TransportError: \(thrown)")

        let law = try await #require(throws: ConformanceFailure.self) {
            try await DecoratorLaw.statuses.check { _ in ClosureConnection { _ in throw thrown } }
        }
        #expect(law.name == DecoratorLaw.statuses.name)
    }

    @Test func `Cancelling the caller of a case is no failure`() async {
        let gate = Gate()
        let task = Task {
            _ = try await TransportCase.fixedLength.check { _ in
                ClosureConnection { _ in
                    try await gate.wait()
                    return Response(status: .ok)
                }
            }
        }
        await #expect(throws: Never.self) { try await gate.waitForWaiting(1) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}

import Decorum
import DecorumTestingTraits
import Testing

@Suite struct ExpectingNoFindingsTests {
    @Test func `Each finding is an issue at the call`() {
        let wrong = StubConnection().validatingStatus().followingRedirects().logging(
            to: LogSink { _ in }, redacting: .none)
        withKnownIssue {
            expectNoFindings(in: wrong)
        } matching: { issue in
            let text = issue.comments.map(\.rawValue).joined()
            return issue.sourceLocation?.fileName == "ExpectingNoFindingsTests.swift" && text.contains("error        ")
                && (text.contains("statusErrorTooEarly") || text.contains("secretsRecorded"))
        }
    }

    @Test func `A sound stack, and one whose hazards are accepted, give no issue`() {
        expectNoFindings(in: StubConnection().followingRedirects().validatingStatus())
        expectNoFindings(
            in: StubConnection().retrying(.tool, clock: ImpatientClock()),
            accepting: ["unlimitedCall": "The test ends at once."])
    }
}

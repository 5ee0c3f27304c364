import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTesting

/// The requests that repeat a failed one are found without a search through the run.
@Suite struct RepeatedRequestTests {
    private func exchange(_ content: String, _ status: Int, path: String = "/a") -> Interaction {
        Interaction(
            request: RecordedRequest(
                method: "POST", url: "https://example.com\(path)", body: RecordedBody(Data(content.utf8))),
            response: RecordedResponse(status: status))
    }

    private func failures(
        recorded: [Interaction], live: [Interaction], rules: [MatchingRule] = [.method, .url, .body]
    ) -> TransientFailures {
        TransientFailures(recorded, foreign: [], isSorted: false, live: live, rules: rules)
    }

    @Test func `Each of 10,000 failures that no request repeats is compared once`() {
        let count = Mutex(0)
        let probe = MatchingRule("probe") { request in
            count.withLock { $0 += 1 }
            return String(decoding: request.body.bytes, as: UTF8.self)
        }
        let live = (0..<10_000).map { exchange("\($0)", 503) }
        var failures = failures(recorded: [exchange("0", 200)], live: live, rules: [.method, .url, probe])
        let found = live.indices.filter { failures.liveFailure(at: $0, recordedAt: 0) != nil }
        #expect(found.isEmpty)
        #expect(count.withLock { $0 } == 10_000)
    }

    @Test func `Only later requests with the same content and address repeat a failure`() {
        let live = [
            exchange("a", 200), exchange("a", 503), exchange("b", 503), exchange("a", 503, path: "/b"),
            exchange("a", 503), exchange("a", 200), exchange("a", 200),
        ]
        var failures = failures(recorded: [exchange("a", 200)], live: live)
        let alone = failures.liveFailure(at: 2, recordedAt: 0)
        #expect(alone?.repeats == nil)
        let failure = failures.liveFailure(at: 1, recordedAt: 0)
        #expect(failure?.repeats == [4, 5] && failure?.answered == 5)
        #expect(failures.explains(live: 5) && !failures.explains(live: 6))
    }

    @Test func `A secret in place of a placeholder repeats a request, at the same address alone`() {
        let hidden = Pseudonym.erasedText
        let live = [
            exchange("{\"key\":\"\(hidden)\"}", 503), exchange("{\"key\":\"other\"}", 503, path: "/b"),
            exchange("{\"key\":\"secret\"}", 200),
        ]
        var failures = failures(recorded: [exchange("{}", 200)], live: live)
        let failure = failures.liveFailure(at: 0, recordedAt: 0)
        #expect(failure?.repeats == [2])
    }
}

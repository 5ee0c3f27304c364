import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// The words of a report, and the attempts that decisions tell.
@Suite struct ReportTextTests {
    private func decision(
        _ kind: CallDecision.Kind, by layer: String = "retrying", waiting: Duration? = nil, after outcome: String? = nil
    ) -> CallDecision {
        CallDecision(kind, by: layer, "words", waiting: waiting, after: outcome)
    }

    private func text(_ decisions: [CallDecision], _ outcome: String? = "200") -> [String] {
        CallReport.Attempt.list(of: decisions, endingWith: outcome).map {
            "\($0.reason) \($0.wait.shortText) \($0.outcome ?? "-")"
        }
    }

    @Test func `Attempts follow from the decisions of the layers`() {
        #expect(text([]) == [])
        #expect(text([decision(.answers, by: "caching")]) == [])
        #expect(text([decision(.sends)]) == ["first 0.0 ms 200"])
        #expect(text([decision(.waits, by: "pacing", waiting: .seconds(3)), decision(.sends)]) == ["first 3.00 s 200"])
        let retry = decision(.waits, waiting: .seconds(2), after: "503")
        #expect(text([decision(.sends), retry, decision(.sends)]) == ["first 0.0 ms 503", "retry 2.00 s 200"])
        #expect(text([decision(.sends), retry], "cancelled") == ["first 0.0 ms 503", "retry 2.00 s cancelled"])
        var (queue, sending) = (decision(.waits, by: "limiting"), decision(.sends))
        (queue.time, sending.time) = (.seconds(1), .seconds(5))
        #expect(text([queue, sending]) == ["first 4.00 s 200"])
        #expect(text([queue, retry, sending]) == ["first 0.0 ms 503", "retry 2.00 s 200"])
        let long = decision(.waits, by: "pacing", waiting: Duration.seconds(Int64.max))
        #expect(text(Array(repeating: long, count: 19) + [decision(.sends)]).count == 1)
        // Without transports that tell what they send.
        #expect(text([retry, retry]) == ["first 0.0 ms 503", "retry 2.00 s 503", "retry 2.00 s 200"])
        let redirection = decision(.redirects, after: "301")
        #expect(
            text([decision(.sends), redirection, decision(.sends), decision(.resends, after: "401"), decision(.sends)])
                == ["first 0.0 ms 301", "redirection 0.0 ms 401", "resend 0.0 ms 200"])
        // A remembered redirection is no attempt, and the outcome is that of the request that has won.
        #expect(text([decision(.redirects), decision(.sends)]) == ["redirection 0.0 ms 200"])
        for (winner, expected) in [
            (2, ["first 0.0 ms -", "other 0.0 ms 200"]), (1, ["first 0.0 ms 200", "other 0.0 ms -"]),
        ] {
            var answer = decision(.answers, by: "hedging")
            answer.winner = winner
            #expect(text([decision(.sends), decision(.resends, by: "hedging"), decision(.sends), answer]) == expected)
        }
    }

    private func report(_ change: (inout CallReport) -> Void) -> CallReport {
        var report = CallReport(method: .get, statusCode: 200)
        change(&report)
        return report
    }

    @Test func `Why it was not cached is told in one sentence`() {
        func words(_ change: (inout CallReport.Cache) -> Void) -> String {
            var cache = CallReport.Cache("Decorum")
            change(&cache)
            return report { $0.cache = cache }.explainCaching()
        }
        #expect(report { _ in }.explainCaching() == "No cache of this client has handled it.")
        #expect(report { $0.source = .cache }.explainCaching() == "It was answered from a store.")
        #expect(report { $0.isCoalesced = true }.explainCaching().hasPrefix("It got the response to an identical"))
        #expect(
            words { ($0.isHit, $0.timeToLive) = (true, .seconds(42)) }
                == "The cache Decorum answered it, fresh for 42.00 s more.")
        #expect(
            words { ($0.forwardReason, $0.isStored) = ("stale", true) }
                == "The cache Decorum asked the server, since the stored response was stale, and stored the response.")
        #expect(
            words { ($0.forwardReason, $0.detail) = ("uri-miss", "not stored: no-store (RFC 9111, 5.2.2.5)") }
                == "The cache Decorum asked the server, since nothing was stored for the URL: "
                + "not stored: no-store (RFC 9111, 5.2.2.5).")
        #expect(words { $0.detail = "nothing is stored" } == "The cache Decorum refused it: nothing is stored.")
    }

    @Test func `Why it was not sent again is told in one sentence`() {
        #expect(report { _ in }.explainRetrying() == "It needed no retry.")
        #expect(report { $0.retries = 2 }.explainRetrying() == "It was sent again 2 times.")
        #expect(report { ($0.retries, $0.statusCode) = (1, 404) }.explainRetrying() == "It was sent again once.")
        #expect(
            report { ($0.retryRefusal, $0.statusCode) = ("the wait is too long", 503) }.explainRetrying()
                == "It was not sent again: the wait is too long.")
        #expect(
            report { ($0.decisions, $0.retries) = ([decision(.givesUp)], 1) }.explainRetrying()
                == "It was sent again once, and then no more: words.")
        #expect(report { $0.statusCode = 404 }.explainRetrying().hasPrefix("It was not sent again: no layer"))
    }

    @Test func `A story has at most fifteen lines, and no text starts a line or controls a terminal`() throws {
        let hostile = "a\n\u{1B}[2Jb\u{202E}"
        let report = report {
            ($0.url, $0.routeName, $0.errorText) = ("https://a.example/", hostile, hostile)
            ($0.outcome, $0.duration, $0.timeToHead) = (.failed(name: "tls"), .seconds(9), .seconds(1))
            $0.network = NetworkState(kind: .cellular, isExpensive: true)
            let attempts = (1...30).map { _ in CallReport.Attempt(.retry, after: .seconds(1), outcome: hostile) }
            ($0.attempts, $0.attemptCount, $0.retries, $0.retryRefusal) = (attempts, 30, 29, hostile)
            $0.redirections = (1...30).map { .init(301, from: "/\($0)", to: hostile) }
            ($0.pacingWait, $0.bytesSent, $0.bytesReceived) = (.seconds(3), 8, 5120)
            $0.cache = .init(hostile)
            $0.cache?.forwardReason = hostile
            $0.cache?.detail = hostile
            ($0.codings, $0.codedLength) = ([hostile], 12)
            $0.timings = TransferTimings(total: .seconds(1))
            $0.layers = (1...9).map { .init("layer \($0)", own: .seconds($0), total: .seconds(9)) }
        }
        let lines = report.explain().split(separator: "\n", omittingEmptySubsequences: false)
        #expect((12...15).contains(lines.count))
        for text in [report.explain(), "\(report)", report.explainCaching(), report.explainRetrying()] {
            #expect(!text.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\u{202E}" })
        }
        #expect(!"\(report)".contains("\n") && lines[0].contains("route “a\\n") || lines[0].contains("a\\u{A}"))
        #expect(report.explain().contains("The network was cellular, expensive."))
        #expect(report.explain().contains("Most time until the head: layer 9 9.00 s, layer 8 8.00 s,"))
    }

    @Test func `A story of a plain call is short, and that of an attempt does not tell what its call does next`() {
        #expect(CallReport(.attempt, method: .get, statusCode: 503).explain() == "GET was answered with 503.")
        let report = report {
            ($0.url, $0.duration, $0.bytesReceived) = ("https://a.example/", .milliseconds(12), 5)
        }
        #expect(
            report.explain() == """
                GET https://a.example/ was answered with 200 after 12.0 ms.
                0 bytes were sent, and 5 bytes of the response read.
                """)
    }
}

import Decorum
import DecorumTelemetry
import Foundation

/// Reports for the tests of waterfalls and archives.
enum WaterfallExamples: Sendable {
    private static let start = Date(timeIntervalSince1970: 1_700_000_000)

    /// A call over a new connection, whose parts are measured.
    static func measured(_ url: String = "https://a.example/feed?page=2", at offset: TimeInterval = 0) -> CallReport {
        var report = CallReport(
            callID: 1, method: .get, routeName: "feed", statusCode: 200, duration: .milliseconds(100))
        report.url = url
        report.startedAt = start + offset
        report.timeToHead = .milliseconds(80)
        var timings = TransferTimings(total: .milliseconds(90))
        timings.nameLookup = .milliseconds(10)
        timings.connect = .milliseconds(30)
        timings.handshake = .milliseconds(50)
        timings.firstByte = .milliseconds(70)
        (timings.protocolVersion, timings.remoteAddress) = ("HTTP/2", "192.0.2.1")
        report.timings = timings
        report.attemptCount = 1
        (report.bytesReceived, report.bytesSent) = (5120, 12)
        (report.codings, report.codedLength) = (["gzip"], 1024)
        return report
    }

    /// A call whose first attempt failed, and whose second one began after a wait.
    static func retried(at offset: TimeInterval = 0) -> CallReport {
        var report = CallReport(callID: 2, method: .get, statusCode: 200, duration: .seconds(2))
        report.url = "https://a.example/items"
        report.startedAt = start + offset
        report.timeToHead = .milliseconds(1800)
        var first = CallReport.Attempt(.first, outcome: "503 with Retry-After 1")
        (first.start, first.duration) = (.zero, .milliseconds(400))
        var second = CallReport.Attempt(.retry, after: .seconds(1), outcome: "200")
        (second.start, second.duration) = (.milliseconds(1400), .milliseconds(600))
        report.attempts = [first, second]
        (report.attemptCount, report.retries) = (2, 1)
        return report
    }

    static func failed(at offset: TimeInterval = 0) -> CallReport {
        var report = CallReport(callID: 3, method: .post, outcome: .failed(name: "timedOut"), duration: .seconds(1))
        report.url = "https://b.example/items"
        report.errorText = "The request timed out."
        report.startedAt = start + offset
        report.attemptCount = 1
        return report
    }

    static func stored(at offset: TimeInterval = 0) -> CallReport {
        var report = CallReport(callID: 4, method: .get, statusCode: 200, duration: .milliseconds(2))
        report.url = "https://a.example/icon"
        report.startedAt = start + offset
        report.source = .cache
        report.attemptCount = 0
        return report
    }

    static let all = [measured(), retried(at: 0.1), failed(at: 0.5), stored(at: 1.2)]

    /// Texts of a server that a terminal, a browser, a script or a shell would take for more than text.
    static let hostile = [
        "</script><script>document.title='owned'</script>", "<!--<script>", "<img src=x onerror=alert(1)>", "a\r\nb",
        "\u{1B}[31mred\u{1B}]0;title\u{7}", "\u{9B}2J", "\u{202E}evil", "\u{2028}line", "'\"`$(id)", "&lt;b&gt;",
        "]]>", "\u{0}nul", "{{x}}", "${x}",
    ]

    /// A report with a text in each place that may hold one.
    static func hostile(_ text: String) -> CallReport {
        var report = measured("https://a.example/" + text)
        report.outcome = .failed(name: text)
        report.errorText = text
        report.routeName = text
        report.timings?.protocolVersion = text
        report.attempts = [.init(.first, outcome: text), .init(.retry, outcome: text)]
        report.redirections = [.init(302, from: text, to: "https://b.example/" + text)]
        report.cache = .init(text)
        report.cache?.detail = text
        report.retryRefusal = text
        report.layers = [.init(text, own: .seconds(1), total: .seconds(1))]
        report.decisions = [.init(.waits, by: text, text), .init(.givesUp, by: "retrying", text)]
        return report
    }

    /// A thousand calls of a day, of which each tenth has failed.
    static func many(_ count: Int) -> [CallReport] {
        (0..<count).map { number in
            let offset = Double(number) * 0.05
            var report = [measured(at: offset), retried(at: offset), stored(at: offset), measured(at: offset)][
                number % 4]
            if number % 10 == 0 { report = failed(at: offset) }
            report.callID = UInt64(number)
            report.url = (report.url ?? "") + "#\(number)"
            report.decisions = [
                CallDecision(.forwards, by: "caching", "forwards, because nothing is stored"),
                CallDecision(.sends, by: "transport", "request 1: GET https://a.example"),
            ]
            return report
        }
    }
}

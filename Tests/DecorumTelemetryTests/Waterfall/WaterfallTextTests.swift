import Decorum
import DecorumArchive
import DecorumTelemetry
import DecorumTestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct WaterfallTextTests {
    private typealias Examples = WaterfallExamples

    @Test func `Calls stand along one axis, with a row for each of several attempts`() {
        #expect(
            Waterfall(Examples.all).text(width: 80) == """
                4 calls, 1 error, 2.10 s
                GET https://a.example/feed?page… 200  100.0 ms ▒█
                GET https://a.example/items      200    2.00 s  ░░░░░░░···············▒▒▒▒▒▒████
                  1 first: 503 with Retry-After…      400.0 ms  ░░░░░░░
                  2 retry after 1.00 s: 200           600.0 ms        ················▒▒▒▒▒▒████
                POST https://b.example/items     fail   1.00 s        ░░░░░░░░░░░░░░░░░
                GET https://a.example/icon       200    2.0 ms                   □
                · wait  ~ lookup  - connect  = TLS  ▒ first byte  █ last byte  □ no exchange  ░…
                """)
    }

    @Test func `One call has a row for each part`() {
        #expect(
            Waterfall(Examples.measured()).text(width: 80) == """
                1 call, 0 errors, 100.0 ms
                GET https://a.example/feed?page… 200  100.0 ms ···~~~-------======▒▒▒▒▒▒▒███████
                  wait                                 10.0 ms ···
                  lookup                               10.0 ms    ~~~~
                  connect                              20.0 ms       -------
                  TLS                                  20.0 ms              =======
                  first byte                           20.0 ms                    ▒▒▒▒▒▒▒
                  last byte                            20.0 ms                           ███████
                · wait  ~ lookup  - connect  = TLS  ▒ first byte  █ last byte
                """)
    }

    @Test(arguments: [0, 40, 80, 100, 5_000])
    func `No row is longer than the width`(width: Int) {
        #expect(Waterfall([]).text(width: width) == "0 calls, 0 errors, 0.0 ms")
        let reports =
            Examples.all + Examples.hostile.map(Examples.hostile) + [
                Examples.measured("https://a.example/" + String(repeating: "日本語👩‍👩‍👧‍👦", count: 200)),
                Examples.measured("https://a.example/" + String(repeating: "e\u{301}\u{302}", count: 5_000)),
            ]
        let limit = min(max(width, 40), 1_000)
        for line in Waterfall(reports).text(width: width).split(separator: "\n") { #expect(line.count <= limit) }
        // Each attempt beyond the tenth is only counted.
        var report = Examples.retried()
        report.attempts = Array(repeating: report.attempts[1], count: 500)
        let lines = Waterfall(report).text(width: width).split(separator: "\n")
        #expect(lines.count == 14 && lines.contains("  … and 490 attempts more"))
    }

    @Test(arguments: Examples.hostile) func `No text of a server controls the terminal or begins a row`(text: String) {
        let shown = Waterfall([Examples.hostile(text), Examples.stored()]).text(width: 1_000)
        #expect(shown.split(whereSeparator: \.isNewline).count == 6)
        #expect(!shown.unicodeScalars.contains { $0 != "\n" && $0.properties.generalCategory == .control })
        #expect(!shown.unicodeScalars.contains { $0.properties.generalCategory == .format })
    }

    @Test func `The time of text, page and archive is in proportion to the number of reports`() {
        expectLinearTime(upTo: 4_000, "rows of text") { count in
            let reports = WaterfallExamples.many(count)
            return { _ = Waterfall(reports).text() }
        }
        expectLinearTime(upTo: 1_000, "rows of a page") { count in
            let reports = WaterfallExamples.many(count)
            return { _ = Waterfall(reports).page() }
        }
        expectLinearTime(upTo: 1_000, "entries of an archive") { count in
            let reports = WaterfallExamples.many(count)
            return { _ = HAR(reports).document() }
        }
    }
}

import Decorum
import DecorumArchive
import Foundation

extension Waterfall {
    /// Returns the waterfall as one page of HTML that needs no other file, for a browser.
    ///
    /// The page filters the calls by words, by status and by errors, and shows the story, the parts and the decisions of a call
    /// on a click or with the keyboard: `/` goes to the filter, the arrows to the next call, Return opens and Escape closes it.
    ///
    /// A policy in the page (Content Security Policy Level 3) allows only its own script and styles, by a random number that
    /// no server knows, and nothing else.
    ///
    /// - Parameter title: The title of the page.
    /// - Returns: The page, in UTF-8 by its own declaration.
    public func page(titled title: String = "Waterfall") -> String {
        let title = title.withoutControls.escaping("<>&\"'") { "&#\($0);" }
        let generator = SystemGenerator()
        let nonce = generator.next().hexadecimal() + generator.next().hexadecimal()
        let policy =
            "default-src 'none'; style-src 'nonce-\(nonce)'; script-src 'nonce-\(nonce)'; "
            + "img-src data:; base-uri 'none'; form-action 'none'"
        let keys = WaterfallRow.Part.allCases.map { "<li><i class=\"p\($0.rawValue)\"></i>\($0.name)</li>" }
            .joined()
        return """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="\(policy)">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <link rel="icon" href="data:,">
            <title>\(title)</title>
            <style nonce="\(nonce)">\(WaterfallStyle.text)</style>
            </head>
            <body>
            <header>
            <h1>\(title)</h1>
            <p id="count" role="status">\(summary)</p>
            <div id="filter" role="search">
            <label>Filter <input id="words" type="search" placeholder="URL, route, method, error" autocomplete="off"></label>
            <label>Status <select id="status"><option value="">all</option><option>2xx</option><option>3xx</option>
            <option>4xx</option><option>5xx</option><option value="none">none</option></select></label>
            <label><input id="errors" type="checkbox"> Errors only</label>
            </div>
            <ul id="keys" aria-label="Parts">\(keys)</ul>
            <div id="axis" aria-hidden="true"></div>
            </header>
            <noscript><p>The waterfall is drawn by the script of this page.</p></noscript>
            <main><ol id="calls"></ol></main>
            <script id="data" type="application/json">\(data)</script>
            <script nonce="\(nonce)">\(WaterfallScript.text)</script>
            </body>
            </html>

            """
    }

    /// The calls in JSON, in which no character can end the script element or begin a comment of HTML.
    private var data: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // No value of these rows can fail to be encoded: their numbers are finite.
        let json = (try? encoder.encode(rows.map(PageCall.init))) ?? Data("[]".utf8)
        return String(decoding: json, as: UTF8.self).escaping("<>&\u{2028}\u{2029}") {
            "\\u" + String($0 + 0x1_0000, radix: 16).dropFirst()
        }
    }
}

/// A row of the page.
private struct PageCall: Encodable {
    let title, outcome, group, time: String
    let route: String?
    let isError: Bool
    let start, length: Double
    /// The part, the begin, the end, the attempt, and 1 for a failed one: names of members would take most of the page.
    let bars: [[Double]]
    let story: String
    let facts: [[String]]
    let decisions: [String]

    init(_ row: WaterfallRow) {
        let report = row.report
        title = report.title.withoutControls
        outcome = report.shortOutcome
        group = report.statusCode.map { "\($0 / 100)xx" } ?? "none"
        time = row.length.shortTime
        route = report.routeName?.withoutControls
        isError = report.isError
        (start, length) = (row.offset.roundedTime, row.length.roundedTime)
        bars = row.bars.map {
            [
                Double($0.part.rawValue), $0.start.roundedTime, $0.end.roundedTime, Double($0.attempt),
                $0.isFailed ? 1 : 0,
            ]
        }
        story = report.explain()
        let facts: [(String, String?)] = [
            ("Began", report.startedAt.map { HARDate.text($0) }),
            ("Source", report.source?.description), ("Final URL", report.redirections.isEmpty ? nil : report.finalURL),
            ("Protocol", report.timings?.protocolVersion), ("Server", report.timings?.remoteAddress),
            ("Call", report.callID.map { $0.hexadecimal() }),
        ]
        self.facts = facts.compactMap { name, value in value.map { [name, $0.withoutControls] } }
        decisions = report.decisions.map { decision in
            ((decision.time.map { $0.shortText + "  " } ?? "") + decision.description).withoutControls
        }
    }
}

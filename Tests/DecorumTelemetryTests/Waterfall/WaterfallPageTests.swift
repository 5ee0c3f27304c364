import Decorum
import DecorumTelemetry
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(3))) struct WaterfallPageTests {
    private typealias Examples = WaterfallExamples

    @Test func `The page asks for nothing, and allows nothing but its own parts`() throws {
        let page = Waterfall(Examples.all).page(titled: "Feed")
        #expect(page.contains("<title>Feed</title>"))
        let policy = try #require(page.firstMatch(of: /style-src 'nonce-(\w{32})'; script-src 'nonce-(\w{32})';/))
        let nonces = page.matches(of: /<(style|script) nonce="(\w+)">/).map(\.2)
        #expect(policy.1 == policy.2 && nonces == [policy.1, policy.1])
        #expect(page.contains("content=\"default-src 'none'; ") && Waterfall([]).page() != Waterfall([]).page())
        #expect(page.matches(of: /\s(?:src|href)="([^"]*)"/).map(\.1) == ["data:,"])
        #expect(page.matches(of: /\son[a-z]+=|style="|@import|url\(/).isEmpty)
    }

    @Test(arguments: Examples.hostile) func `No text leaves its place in the page`(text: String) throws {
        let page = Waterfall([Examples.hostile(text)]).page(titled: text)
        let plain = Waterfall([Examples.hostile("plain")]).page(titled: "plain")
        #expect(page.count { $0 == "<" } == plain.count { $0 == "<" })
        #expect(!page.unicodeScalars.contains { $0 != "\n" && $0.properties.generalCategory == .control })
        #expect(!page.contains("\u{2028}") && !page.contains("\u{202E}") && !page.contains("<!--"))

        let json = try #require(page.firstMatch(of: /type="application\/json">([^<]*)<\/script>/)).1
        let calls = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [[String: Any]])
        #expect(calls.count == 1)
    }

    #if os(macOS) || os(Linux)
    private static let chromium = RunningScript.program("chromium", variable: "CHROMIUM")

    private struct Visit: Decodable {
        let results: [String]
        let console: [String]
        let asked: [String]
    }

    /// Does steps in a page, and returns the values of those that are expressions.
    private func visit(_ waterfall: Waterfall, titled title: String = "Waterfall", _ steps: String...) async throws
        -> [String]
    {
        let command = [
            "python3", Fixtures.url("telemetry/browse.py").path, try #require(Self.chromium), "page.html",
            "[\(steps.joined(separator: ", "))]",
        ]
        let output = try await RunningScript.output(
            of: command.map(RunningScript.quoted).joined(separator: " "),
            files: ["page.html": Data(waterfall.page(titled: title).utf8)])
        let visit = try JSONDecoder().decode(Visit.self, from: output)
        #expect(visit.console == [])
        #expect(visit.asked.filter { $0 != "data:," } == [])
        return visit.results
    }

    /// The step that sets fields of the filter.
    private func filter(_ fields: String) -> String { #"{"run": "\#(fields); filter(); ''"}"# }

    private let count = #"{"run": "document.getElementById('count').textContent"}"#
    private let shown = ##"{"run": "document.querySelectorAll('#calls > li:not([hidden])').length + ''"}"##
    private let story = #"{"run": "document.querySelector('.details .story')?.textContent ?? 'closed'"}"#

    @Test(.enabled(if: chromium != nil, "No Chromium is found, in the search path or by CHROMIUM."))
    func `A thousand calls are ready in a second, and the filter finds among them`() async throws {
        let results = try await visit(
            Waterfall(Examples.many(1_000)), #"{"cost": true}"#, count,
            #"{"key": "/"}"#, #"{"type": "ICON 200"}"#, count, shown,
            filter("words.value = ''; errors.checked = true"), count,
            filter("errors.checked = false; status.value = 'none'"), count, filter("words.value = 'nothing'"), count)
        // Not the time that has passed, which other tests take from the browser.
        #expect(try #require(Int(results[0])) < 1_000)
        #expect(
            results.dropFirst() == [
                "1000 of 1000 calls, 100 errors", "200 of 1000 calls, 0 errors", "200", "",
                "100 of 1000 calls, 100 errors", "", "100 of 1000 calls, 100 errors", "", "0 of 1000 calls, 0 errors",
            ])
    }

    @Test(.enabled(if: chromium != nil, "No Chromium is found, in the search path or by CHROMIUM."))
    func `A click and a key open the details of a call`() async throws {
        let results = try await visit(
            Waterfall(Examples.all), ##"{"click": "#calls > li:nth-child(3) .title"}"##, story,
            #"{"key": "ArrowUp"}"#, #"{"key": "Enter"}"#, story, #"{"key": "Escape"}"#, story,
            ##"{"click": "#calls > li:nth-child(4) .title"}"##, story,
            #"{"run": "/0000000000000004[^]*no exchange/.test(document.querySelector('.details').innerText) + ''"}"#)
        #expect(results[0].hasPrefix("POST https://b.example/items failed after 1.00 s"))
        #expect(results[1].hasPrefix("GET https://a.example/items was answered with 200"))
        #expect(results[2] == "closed")
        #expect(results[3].hasPrefix("GET https://a.example/icon"))
        #expect(results[4] == "true")
    }

    @Test(.enabled(if: chromium != nil, "No Chromium is found, in the search path or by CHROMIUM."))
    func `Markup of a server is text in the page`() async throws {
        let reports = Examples.hostile.map(Examples.hostile)
        let steps = (reports.indices + [0]).map { #"{"run": "open(rows[\#($0)]), ''"}"# }
        let script = Examples.hostile[0]
        let results = try await visit(
            Waterfall(reports), titled: script, steps.joined(separator: ", "), story, #"{"run": "document.title"}"#,
            #"{"run": "document.querySelectorAll('img, script').length + ''"}"#)
        #expect(results.suffix(2) == [script, "2"])
        #expect(results[steps.count].contains("https://a.example/" + script))
    }
    #endif
}

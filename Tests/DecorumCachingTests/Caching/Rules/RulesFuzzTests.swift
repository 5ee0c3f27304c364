import DecorumTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// Random and hostile fields, which must not crash a cache or make it break a rule.
@Suite struct RulesFuzzTests {
    private static let rounds = Footprint.isSoak ? 20_000 : 2000

    @Test func `No forbidden response is stored, and no stale one or other variant is served`() async {
        let dice = HostileFields(seed: 20)
        for _ in 0..<Self.rounds {
            await Task.yield()
            let asked = StoredPage.request(dice.requestFields(), method: dice.pick([.get, .get, .get, .head]))
            let variants = (0..<dice.below(4)).compactMap { _ in dice.stored() }
            let wanted = CacheRequest(asked.headerFields, use: dice.pick([.standard, .standard, .reload, .onlyStored]))
            let now = StoredPage.date.addingTimeInterval(dice.pick([-1e12, -100, 0, 0.5, 50, 100, 101, 1e6, 1e12]))
            let policy = dice.policy()
            let decision = CacheDecision.decide(asked, wanting: wanted, from: variants, at: now, policy: policy)

            switch decision {
            case .serve(let stored, let age, let timeToLive, nil):
                let control = CacheControl(stored.head.headerFields)
                #expect(stored.isSelected(by: asked))
                #expect(age >= 0 && timeToLive.isFinite)
                #expect(!wanted.needsValidation && !stored.freshness.needsValidation)
                #expect(timeToLive > 0 || !control.contains("must-revalidate"))
                #expect(timeToLive > 0 || wanted.maxStale != nil)
            case .serve(let stored, let age, let timeToLive, let stale?):
                #expect(stored.isSelected(by: asked))
                #expect(age >= 0 && timeToLive <= 0)
                #expect(!wanted.needsValidation && !wanted.isOnlyIfCached && !stale.stored.freshness.forbidsStale)
                #expect(-timeToLive < stale.stored.freshness.staleWhileRevalidate)
            case .forward(.ask(let stored), _, let fallback):
                #expect(!wanted.isOnlyIfCached)
                #expect(fallback.map { $0.stored.isSelected(by: asked) && !$0.stored.freshness.forbidsStale } ?? true)
                var fields = asked.headerFields
                Validation.ask(about: stored, in: &fields)
                let validation = StoredPage.head(dice.responseFields(), status: 304)
                let confirmed = Validation.confirmed(by: validation, among: stored, for: asked)
                #expect(confirmed.map { $0.isSelected(by: asked) || $0.hasStrongTag(of: validation) } ?? true)
            case .forward(.complete(let stored, _), _, _):
                #expect(!wanted.isOnlyIfCached && stored.isSelected(by: asked) && stored.head.status == .partialContent)
            case .refuse:
                #expect(wanted.isOnlyIfCached)
            }
        }
    }

    @Test func `No-store is stored only with must-understand, and Vary with a star never`() async {
        let dice = HostileFields(seed: 21)
        for _ in 0..<Self.rounds {
            await Task.yield()
            let request = StoredPage.request(dice.requestFields())
            let head = StoredPage.head(dice.responseFields(), status: dice.status())
            guard StoringRules.refusal(of: head, to: request) == nil else { continue }
            let control = CacheControl(head.headerFields)
            #expect(!control.contains("no-store") || control.contains("must-understand"))
            #expect(!CacheControl(request.headerFields).contains("no-store"))
            #expect(!Vary(head.headerFields).isAny)
            #expect(head.status.code != 206 || ContentRange(head.headerFields) != nil)

            let stored = StoringRules.storable(head, receivedAt: StoredPage.date)
            #expect(Vary(stored.headerFields) == Vary(head.headerFields))
            #expect(CacheControl(stored.headerFields).contains("no-cache") == control.contains("no-cache"))
        }
    }

    @Test func `A part is never longer than its source, and a whole has its declared length`() async throws {
        let dice = HostileFields(seed: 22)
        for _ in 0..<Self.rounds {
            await Task.yield()
            guard let stored = dice.stored() else { continue }
            let held = stored.body.length ?? 0
            if let range = ByteRange(dice.range()), let answer = PartialContent.answer(range, from: stored) {
                #expect(answer.body.length ?? 0 <= held)
                if answer.head.status == .partialContent {
                    let bounds = try #require(ContentRange(answer.head.headerFields)).bounds
                    #expect(answer.body.length == bounds.upperBound - bounds.lowerBound)
                }
            }
            let part = StoredPage.head(dice.responseFields(), status: 206)
            if let whole = PartialContent.combined(stored, with: part, Body(Data(count: dice.below(12)))) {
                #expect(whole.head.headerFields[.contentLength] == whole.body.length.map { String($0) })
            }
            if let arrived = dice.stored(), let both = PartialContent.extended(stored, by: arrived) {
                let length = (both.body.length ?? 0) + (arrived.body.length ?? 0)
                #expect(both.response.head.headerFields[.contentLength] == String(length))
            }
        }
    }

    @Test func `Bytes of any kind are read without a crash`() async {
        let dice = HostileFields(seed: 23)
        for _ in 0..<Self.rounds {
            await Task.yield()
            let text = dice.garbage()
            let fields: HTTPFields = [
                .cacheControl: text, .age: text, .expires: text, .date: text, .lastModified: text, .vary: text,
                .contentRange: "bytes \(text)", .eTag: text, .acceptLanguage: text, .connection: text, .location: text,
            ]
            let head = HTTPResponse(status: .init(code: dice.status()), headerFields: fields)
            let stored = StoredResponse(
                head: head, body: "0123456789", request: StoredPage.request(), date: StoredPage.date)
            let lifetime = stored.freshness.lifetime(guessing: .standard)
            #expect(lifetime >= 0 && lifetime.isFinite)
            #expect(stored.freshness.initialAge >= 0 && stored.freshness.initialAge.isFinite)
            #expect(CacheControl(fields).seconds(of: text.lowercased()) ?? 0 >= 0)

            let range = ByteRange("bytes=\(text)")
            #expect(range?.resolved(in: .max).map { !$0.isEmpty } ?? true)
            #expect(ContentRange(fields).map { !$0.bounds.isEmpty } ?? true)
            let freshened = Validation.freshened(head, with: fields)
            #expect(StoringRules.storable(freshened, receivedAt: StoredPage.date).status == head.status)
            let post = StoredPage.request(method: .post)
            #expect(InvalidationRules.invalidated(by: head, to: post).allSatisfy { $0.authority == "example.com" })
        }
    }
}

extension StoredResponse {
    fileprivate func hasStrongTag(of validation: HTTPResponse) -> Bool {
        PartialContent.strongTag(of: validation).map { $0 == PartialContent.strongTag(of: head) } ?? false
    }
}

/// Generates fields with problematic values.
private struct HostileFields {
    private let generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    func below(_ limit: Int) -> Int { Int(generator.next() % UInt64(limit)) }

    func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    func status() -> Int { pick([200, 200, 200, 206, 206, 301, 302, 304, 404, 416, 500, 503, 599, 100]) }

    func policy() -> CachingPolicy {
        var policy = CachingPolicy()
        policy.heuristicFraction = pick([0.1, 0, -1, .nan, .infinity, 1e308])
        policy.heuristicLimit = pick([.seconds(100), .zero, .seconds(-1), .seconds(Int64.max), .seconds(Int64.min)])
        policy.staleIfUnreachable = pick([.seconds(100), .zero, .seconds(-1), .seconds(Int64.max)])
        return policy
    }

    func stored() -> StoredResponse? {
        let status = status()
        return StoredResponse(
            head: StoredPage.head(responseFields(), status: status), body: Body(Data(count: below(12))),
            request: StoredPage.request(requestFields()),
            requestDate: StoredPage.date.addingTimeInterval(pick([0, -5, 5, -1e12])), date: StoredPage.date)
    }

    func requestFields() -> String {
        lines([
            "Cache-Control: \(directive())", "Cache-Control: \(directive()), \(directive())", "Range: \(range())",
            "If-None-Match: \(tag()), \(tag())", "If-Modified-Since: \(date())", "Pragma: no-cache", "A: \(below(2))",
            "A: \(below(2))", "Accept-Language: \(pick(["nl", "en;q=\(number())", ";;q", "nl, en", garbage()]))",
        ])
    }

    func responseFields() -> String {
        lines([
            "Cache-Control: \(directive())", "Cache-Control: \(directive()), \(directive()), \(directive())",
            "ETag: \(tag())", "ETag: \(tag())", "Last-Modified: \(date())", "Date: \(date())", "Expires: \(date())",
            "Age: \(number())", "Vary: \(pick(["A", "a, B", "Accept-Language", "*", "@", ","]))",
            "Content-Range: bytes \(number())-\(number())/\(pick(["*", "10", "10", number()]))",
            "Content-Range: bytes 0-\(below(10))/10", "Content-Range: bytes \(below(10))-9/10",
            "Content-Language: nl", "Connection: \(pick(["Vary", "ETag", "Cache-Control"]))", "Pragma: no-cache",
        ])
    }

    func range() -> String {
        "bytes=\(pick(["", number(), String(below(12))]))-\(pick(["", number(), String(below(12))]))"
    }

    func garbage() -> String {
        let alphabet = Array("0123456789-=,;:/*\"\\ \tabGMTq.@\u{e9}\u{661}")
        return String((0..<below(24)).map { _ in pick(alphabet) })
    }

    private func lines(_ choices: [String]) -> String {
        choices.filter { _ in below(3) == 0 }.joined(separator: "|")
    }

    private func directive() -> String {
        let name = pick([
            "max-age", "max-age", "s-maxage", "no-cache", "no-store", "must-revalidate", "must-understand", "immutable",
            "stale-while-revalidate", "stale-if-error", "max-stale", "min-fresh", "only-if-cached", "public", "private",
        ])
        return pick([
            name, name, "\(name)=\(number())", "\(name)=100", "\(name)=\"\(number())\"", "\(name)=\"", "\(name)=\"A\"",
        ])
    }

    private func number() -> String {
        pick([
            "0", "1", "5", "100", "-1", "9223372036854775807", "9223372036854775806", "9223372036854775808",
            "18446744073709551616", "1e9", "nan", "inf", "", "0x10", "+5", "4294967296",
        ])
    }

    private func tag() -> String {
        pick(["\"1\"", "\"1\"", "\"2\"", "W/\"1\"", "w/\"1\"", "\"", "", "*", "\"a,b\"", "1"])
    }

    private func date() -> String {
        pick([
            "Sun, 09 Sep 2001 01:46:40 GMT", "Sun, 09 Sep 2001 01:45:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT",
            "Mon, 01 Jan 0001 00:00:00 GMT", "Sunday, 09-Sep-99 01:46:40 GMT", "Sun Sep  9 01:46:40 2001", "0", "-1",
            "",
            "Sun, 99 Sep 2001 99:99:99 GMT",
        ])
    }
}

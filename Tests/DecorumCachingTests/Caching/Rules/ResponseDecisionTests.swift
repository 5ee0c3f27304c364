import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// RFC 9111, sections 3, 3.3, 4.3.3, 4.3.4 and 4.3.5, and RFC 5861, section 4.
@Suite struct ResponseDecisionTests {
    private func forwarded(
        _ asked: ForwardedRequest.Purpose = .ask([]), fields: String = "", method: HTTPRequest.Method = .get,
        fallback: StaleFallback? = nil, replacing: Bool = true, reports: Bool = true
    ) throws -> ForwardedRequest {
        let request = Request(head: StoredPage.request(fields, method: method))
        let forwarded = ForwardedRequest(
            request, key: try #require(ResponseKey(request, method: .get)), for: asked, because: .stale,
            fallback: fallback, replacing: replacing, mayBeShared: true, datedBy: VirtualClock())
        if reports { forwarded.request(for: nil).reportSending() }
        return forwarded
    }

    private func decision(
        about fields: String, status: Int = 200, body: Body = "0123456789", to forwarded: ForwardedRequest,
        policy: CachingPolicy = .standard
    ) -> ResponseDecision {
        ResponseDecision.decide(about: StoredPage.head(fields, status: status), body, to: forwarded, by: policy)
    }

    // MARK: Complete responses

    static let responses: [(status: Int, fields: String, asked: String, decision: String, withoutStored: String)] = [
        (200, "ETag: \"1\"", "", "store, replacing", "store"),
        (404, "ETag: \"1\"", "", "store, replacing", "store"), (301, "ETag: \"1\"", "", "store", "store"),
        (500, "Cache-Control: max-age=5", "", "store", "store"),
        (206, "ETag: \"1\" | Content-Range: bytes 0-4/10", "", "store, replacing", "store"),
        (200, "", "", "forget, refused(useless)", "pass, refused(useless)"),
        (200, "Cache-Control: no-store", "", "forget, refused(response)", "pass, refused(response)"),
        (200, "ETag: \"1\" | Vary: *", "", "forget, refused(vary)", "pass, refused(vary)"),
        (206, "ETag: \"1\"", "", "forget, refused(part)", "pass, refused(part)"),
        (410, "Cache-Control: no-store", "", "forget, refused(response)", "pass, refused(response)"),
        (200, "ETag: \"1\"", "Cache-Control: no-store", "forget, refused(request)", "pass, refused(request)"),
        (201, "", "", "forget, refused(status)", "pass, refused(status)"),
        (302, "", "", "pass, refused(status)", "pass, refused(status)"),
        (500, "", "", "pass, refused(status)", "pass, refused(status)"),
        (503, "Cache-Control: no-store", "", "pass, refused(response)", "pass, refused(response)"),
        (
            599, "Cache-Control: max-age=5, must-understand", "", "pass, refused(understanding)",
            "pass, refused(understanding)"
        ),
        (412, "", "If-None-Match: \"c\"", "pass, refused(condition)", "pass, refused(condition)"),
        (416, "", "Range: bytes=20-", "pass, refused(condition)", "pass, refused(condition)"),
        (404, "ETag: \"1\"", "Range: bytes=0-4", "forget, refused(part)", "pass, refused(part)"),
    ]

    @Test(arguments: responses)
    func `A complete response is stored, replaces what is stored, or passes`(
        status: Int, fields: String, asked: String, decision: String, withoutStored: String
    ) throws {
        let stored = StoredPage.response("ETag: \"0\"")
        for question in [ForwardedRequest.Purpose.ask([]), .ask([stored])] {
            let forwarded = try forwarded(question, fields: asked)
            #expect(self.decision(about: fields, status: status, to: forwarded).summary == decision)
        }
        let first = try forwarded(fields: asked, replacing: false)
        #expect(self.decision(about: fields, status: status, to: first).summary == withoutStored)
    }

    @Test func `The policy may refuse a response, which then is outdated where it is stored`() throws {
        var policy = CachingPolicy()
        policy.mayStore = { _, response in response.headerFields[.eTag] != "\"1\"" }
        let decide = { (tag: String, replacing: Bool) in
            decision(about: "ETag: \(tag)", to: try forwarded(replacing: replacing), policy: policy).summary
        }
        #expect(try decide("\"1\"", true) == "forget, policy")
        #expect(try decide("\"1\"", false) == "pass, policy")
        #expect(try decide("\"2\"", true) == "store, replacing")
    }

    @Test func `A response for one caller passes, and says nothing about what is stored`() throws {
        let stored = StoredPage.response("ETag: \"1\"")
        for method in [HTTPRequest.Method.get, .head] {
            let forwarded = try forwarded(.ask([stored]), method: method, reports: false)
            #expect(decision(about: "ETag: \"2\"", to: forwarded).summary == "pass, noPrincipal")
            #expect(decision(about: "Cache-Control: no-store", to: forwarded).summary == "pass, noPrincipal")
        }
    }

    static let errors: [(status: Int, isUsedForErrors: Bool, decision: String)] = [
        (503, true, "pass, replacedByStale"), (500, true, "pass, replacedByStale"), (503, false, "store"),
        (501, true, "store"), (404, true, "store, replacing"), (200, true, "store, replacing"),
    ]

    @Test(arguments: errors)
    func `An error that a stale response replaces is not stored`(
        status: Int, isUsedForErrors: Bool, decision: String
    ) throws {
        let stored = StoredPage.response("ETag: \"1\"")
        let fallback = StaleFallback(stored: stored, isUsedForErrors: isUsedForErrors, isUsedWhereUnreachable: true)
        let forwarded = try forwarded(.ask([stored]), fallback: fallback)
        #expect(self.decision(about: "Cache-Control: max-age=5", status: status, to: forwarded).summary == decision)
    }

    // MARK: 304

    static let validations: [(stored: String, asked: String, answer: String, decision: String)] = [
        ("ETag: \"1\"", "", "ETag: \"1\"", "confirm, refreshed"), ("ETag: \"1\"", "", "", "confirm, refreshed"),
        ("ETag: W/\"1\"", "", "ETag: W/\"1\"", "confirm, refreshed"),
        ("ETag: W/\"1\"", "", "ETag: \"1\"", "confirm"),
        ("ETag: \"1\"", "", "ETag: \"1\" | Cache-Control: no-store", "confirm, refreshed, refused(response)"),
        ("ETag: \"1\"", "", "ETag: \"1\" | Vary: *", "confirm, refreshed, refused(vary)"),
        // It confirms nothing.
        ("ETag: \"1\"", "", "ETag: \"2\"", "ask plainly"),
        ("Last-Modified: x", "", "ETag: \"1\"", "ask plainly"),
        ("ETag: \"1\"", "If-None-Match: \"c\"", "ETag: \"c\"", "pass, refused(condition)"),
        ("ETag: \"1\"", "If-None-Match: \"c\", \"1\"", "ETag: \"1\"", "confirm, refreshed"),
        ("Last-Modified: x", "If-Modified-Since: y", "Last-Modified: y", "pass, refused(condition)"),
    ]

    @Test(arguments: validations)
    func `A 304 confirms a stored response, answers the caller, or is of no use`(
        stored: String, asked: String, answer: String, decision: String
    ) throws {
        let forwarded = try forwarded(.ask([StoredPage.response(stored)]), fields: asked)
        #expect(self.decision(about: answer, status: 304, body: .empty, to: forwarded).summary == decision)
    }

    @Test func `A 304 for a request without a question passes`() throws {
        let forwarded = try forwarded(fields: "If-None-Match: \"c\"")
        #expect(decision(about: "", status: 304, body: .empty, to: forwarded).summary == "pass, refused(condition)")
    }

    @Test func `The policy may refuse a confirmed response with its updated fields`() throws {
        var policy = CachingPolicy()
        policy.mayStore = { _, response in response.headerFields[.server] == nil }
        let forwarded = try forwarded(.ask([StoredPage.response("ETag: \"1\"")]))
        let decided = decision(about: "Server: x", status: 304, body: .empty, to: forwarded, policy: policy)
        #expect(decided.summary == "confirm, refreshed, policy")
    }

    @Test func `A 304 after another cookie confirms only by a strong tag`() throws {
        let stored = StoredPage.response("ETag: \"1\"", to: "Cookie: a=1")
        let forwarded = try forwarded(.ask([stored]), fields: "Cookie: a=2")
        #expect(decision(about: "ETag: \"1\"", status: 304, to: forwarded).summary == "confirm, refreshed")
        #expect(decision(about: "ETag: W/\"1\"", status: 304, to: forwarded).summary == "ask plainly")
    }

    // MARK: Parts

    static let parts: [(status: Int, fields: String, body: Body, decision: String)] = [
        (206, "ETag: \"1\" | Content-Range: bytes 5-9/10", "56789", "combine"),
        (
            206, "ETag: \"1\" | Content-Range: bytes 5-9/10 | Cache-Control: no-store", "56789",
            "combine, refused(response)"
        ),
        (206, "ETag: \"2\" | Content-Range: bytes 5-9/10", "56789", "ask plainly"),
        (206, "ETag: W/\"1\" | Content-Range: bytes 5-9/10", "56789", "ask plainly"),
        (206, "Content-Range: bytes 5-9/10", "56789", "ask plainly"), (206, "ETag: \"1\"", "56789", "ask plainly"),
        (206, "ETag: \"1\" | Content-Range: bytes 5-7/10", "567", "ask plainly"),
        (206, "ETag: \"1\" | Content-Range: bytes 5-9/10", "5678", "ask plainly"),
        (416, "", .empty, "ask plainly"), (200, "ETag: \"2\"", "0123456789", "store, replacing"),
        (404, "", .empty, "forget, refused(useless)"), (500, "", .empty, "pass, refused(status)"),
    ]

    @Test(arguments: parts)
    func `A missing part completes the stored start, or is of no use`(
        status: Int, fields: String, body: Body, decision: String
    ) throws {
        let start = StoredPage.response(
            "ETag: \"1\" | Cache-Control: max-age=100 | Content-Range: bytes 0-4/10", status: 206, body: "01234")
        let forwarded = try forwarded(.complete(start, missing: .from(5, through: nil)))
        let decided = self.decision(about: fields, status: status, body: body, to: forwarded)
        #expect(decided.summary == decision)
        guard case .combine(let head, let whole, _) = decided else { return }
        #expect(head.status == .ok)
        #expect(whole.length == 10)
    }

    @Test func `A whole that is combined for one caller is not stored`() throws {
        let start = StoredPage.response(
            "ETag: \"1\" | Cache-Control: max-age=100 | Content-Range: bytes 0-4/10", status: 206, body: "01234")
        let forwarded = try forwarded(.complete(start, missing: .from(5, through: nil)), reports: false)
        let fields = "ETag: \"1\" | Content-Range: bytes 5-9/10"
        let decided = decision(about: fields, status: 206, body: "56789", to: forwarded)
        #expect(decided.summary == "combine, noPrincipal")
    }

    // MARK: HEAD and POST

    @Test(arguments: [200, 404, 500]) func `A response to HEAD updates what is stored`(status: Int) throws {
        let forwarded = try forwarded(method: .head)
        #expect(decision(about: "ETag: \"1\"", status: status, to: forwarded).summary == "update")
    }

    @Test func `A response to POST is stored if all agree`() {
        let request = StoredPage.request(method: .post)
        let response = StoredPage.head("Cache-Control: max-age=5 | Content-Location: /page")
        var policy = CachingPolicy()
        let obstacle = { (response: HTTPResponse, isWanted: Bool, difference: SentRequests.Difference?) in
            ResponseDecision.obstacle(toPOST: response, request, isWanted: isWanted, difference, policy)
        }
        #expect(obstacle(response, true, nil) == nil)
        #expect(obstacle(StoredPage.head("Cache-Control: max-age=5"), true, nil) == .refused(.method))
        #expect(obstacle(response, false, nil) == .removedSince)
        #expect(obstacle(response, true, .content) == .noPrincipal(.content))
        policy.mayStore = { _, _ in false }
        #expect(ResponseDecision.obstacle(toPOST: response, request, isWanted: true, nil, policy) == .policy)
    }
}

extension ResponseDecision {
    /// The decision in words.
    fileprivate var summary: String {
        switch self {
        case .confirm(let confirmation):
            ["confirm", confirmation.isRefreshed ? "refreshed" : nil, confirmation.obstacle?.name]
                .compactMap { $0 }.joined(separator: ", ")
        case .combine(_, _, let reason): reason.map { "combine, \($0.name)" } ?? "combine"
        case .askPlainly: "ask plainly"
        case .update: "update"
        case .store(let isReplacing): isReplacing ? "store, replacing" : "store"
        case .forget(let reason): "forget, \(reason.name)"
        case .pass(let reason): "pass, \(reason.name)"
        }
    }
}

extension NotStored {
    fileprivate var name: String {
        switch self {
        case .refused(let refusal): "refused(\(String(describing: refusal)))"
        case .noPrincipal: "noPrincipal"
        case .policy: "policy"
        case .head: "head"
        case .replacedByStale: "replacedByStale"
        case .weaklyConfirmed: "weaklyConfirmed"
        case .store: "store"
        case .removedSince: "removedSince"
        }
    }
}

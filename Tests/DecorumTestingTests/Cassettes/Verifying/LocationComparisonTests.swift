import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The URL in `Location` of an answer, which a client need not follow.
@Suite(.timeLimit(.minutes(3))) struct LocationComparisonTests {
    private let recorder: TestRecorder

    init() throws { recorder = try TestRecorder() }

    /// Records an answer, verifies another one, and returns the differences.
    private func changes(
        _ method: HTTPRequest.Method, _ status: HTTPResponse.Status, from recorded: String, to live: String?,
        rules: CassetteRules = .silent
    ) async throws -> [String] {
        @Sendable func answer(_ location: String?) -> Response {
            var response = Response(status: status)
            if let location { response.head.headerFields[.location] = location }
            return response
        }
        let requests = [try Request(method, "https://example.com/items")]
        _ = try await recorder.run(.once, requests, rules: rules) { _ in answer(recorded) }
        do {
            _ = try await recorder.run(.verify, requests, rules: rules) { _ in answer(live) }
            return []
        } catch let error as CassetteDriftError {
            return error.drifts.flatMap(\.changes)
        }
    }

    @Test(
        arguments: [
            (.get, .found, "/items/1", "/items/2"), (.head, .movedPermanently, "/items/1", "/v2/items/1"),
            (.get, .found, "/items/100001", "/items/100002"), (.get, .found, "/items?page=1", "/items?page=2"),
            (.get, .found, "/items?page=1", "/items?page=1&all=1"), (.get, .found, "/home", "/login"),
            (.post, .created, "/items/7", "/v2/items/9"), (.post, .created, "/v1/items/7", "/v2/items/9"),
            (.post, .created, "/items/7/parts/1", "/items/9/pieces/2"), (.post, .seeOther, "/home", "/login"),
        ] as [(HTTPRequest.Method, HTTPResponse.Status, String, String)])
    func `Another URL is told`(
        method: HTTPRequest.Method, status: HTTPResponse.Status, recorded: String, live: String
    ) async throws {
        #expect(
            try await changes(method, status, from: recorded, to: live)
                == ["field `Location`  was \(recorded), is \(live)"])
    }

    @Test(
        arguments: [
            (.get, .found, "/items/1", "https://example.com/items/1#top"),
            (.get, .found, "https://example.com/items?a=1&b=2", "https://other.example/items?b=2&a=1"),
            (.get, .found, "/file?expires=1793300000", "/file?expires=1793300999"),
            (.post, .created, "/items/7", "/items/9"), (.post, .created, "/items/apple", "/items/pear-2"),
            (.put, .seeOther, "/items/7/edit", "/items/9/edit"), (.post, .seeOther, "/items?id=7", "/items?id=9"),
        ] as [(HTTPRequest.Method, HTTPResponse.Status, String, String)])
    func `An equal URL, and one with an identifier of the run, are not told`(
        method: HTTPRequest.Method, status: HTTPResponse.Status, recorded: String, live: String
    ) async throws {
        #expect(try await changes(method, status, from: recorded, to: live) == [])
    }

    @Test func `A field that is missing is told, though no request follows it`() async throws {
        for method in [HTTPRequest.Method.post, .get] {
            let recorder = try LocationComparisonTests()
            let status = method == .post ? HTTPResponse.Status.created : .found
            #expect(
                try await recorder.changes(method, status, from: "/items/7", to: nil)
                    == ["field `Location`  is missing: was /items/7"])
        }
    }

    @Test func `Secrets, and items that the rules ignore, are not compared`() async throws {
        var rules = CassetteRules.silent
        rules.matching = [.method, .url(ignoring: "ts")]
        let tokens = ["x7Rq2LmZ9sKd" + "4TbVw8NcYh3J", "p5Wn8XcV2bQz" + "7JkLt4RfGm6D"]
        let urls = tokens.enumerated().map { "/cb?access_token=\($1)&ts=\($0)" }
        #expect(try await changes(.get, .found, from: urls[0], to: urls[1], rules: rules) == [])
    }

    @Test func `A secret in another URL is not shown`() async throws {
        let tokens = ["x7Rq2LmZ9sKd" + "4TbVw8NcYh3J", "p5Wn8XcV2bQz" + "7JkLt4RfGm6D"]
        let found = try await changes(
            .get, .found, from: "/cb?access_token=\(tokens[0])", to: "/back?access_token=\(tokens[1])")
        #expect(found.count == 1 && found[0].hasSuffix("is /back?access_token=__secret__"), "\(found)")
        for token in tokens { #expect(!"\(found)".contains(token.prefix(8)), "\(found)") }
    }

    @Test func `A redirection to an item that the run has made before leads to the recorded one`() async throws {
        func run(_ mode: CassetteMode, created: Int, latest: Int) async throws {
            let requests = try [
                Request.post("https://example.com/items", body: "{}"), .get("https://example.com/latest"),
            ]
            _ = try await recorder.run(mode, requests) { request in
                request.head.method == .post
                    ? Response(status: .created, fields: [.location: "/items/\(created)"])
                    : Response(status: .found, fields: [.location: "/items/\(latest)"])
            }
        }
        try await run(.once, created: 101, latest: 101)
        try await run(.verify, created: 102, latest: 102)
        let error = await #expect(throws: CassetteDriftError.self) {
            try await run(.verify, created: 102, latest: 103)
        }
        #expect(error?.drifts.map(\.request) == ["GET https://example.com/latest"])
        #expect(error?.drifts.first?.changes == ["field `Location`  was /items/101, is /items/103"])
    }

    @Test func `A request that follows another URL is told once, with the answer`() async throws {
        func run(_ mode: CassetteMode, item: Int) async throws {
            let requests = try ["/latest", "/items/\(item)"].map { try Request.get("https://example.com" + $0) }
            _ = try await recorder.run(mode, requests) { request in
                request.head.path == "/latest"
                    ? Response(status: .found, fields: [.location: "/items/\(item)"]) : TestRecorder.json("{}")
            }
        }
        try await run(.once, item: 1)
        let error = await #expect(throws: CassetteDriftError.self) { try await run(.verify, item: 2) }
        #expect(error?.drifts.map(\.changes) == [["field `Location`  was /items/1, is /items/2"]])
    }
}

import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTestingTraits

/// A test with a cassette that fails is told of the requests that the cassette has failed, and has them in its report.
@Suite struct FailureTests {
    private let folder = CassetteFolder()

    private static let interaction = """
        {"request": {"method": "GET", "url": "https://example.com/feed",
        "headers": {"Authorization": "Bearer x7Rq2LmZ9sKd4TbVw8NcYh3J"}},
        "response": {"status": 200, "headers": {"Content-Type": "text/event-stream"}, "text": "data: 1"}
        """
    private static let whole = interaction + "}"
    private static let cut = interaction + #", "error": {"kind": "abandoned", "after": "body"}}"#

    /// What a test with a cassette reports, which has the trait or is a part of a test.
    private func issues(
        _ name: String, _ interactions: String = "", rules: CassetteRules? = nil, mode: CassetteMode = .replay,
        isPart: Bool = false, _ body: @Sendable @escaping () async throws -> Void
    ) async throws -> CollectedIssues {
        try folder.write(interactions, to: name)
        defer { folder.remove(name) }
        guard isPart else { return try await CollectedIssues(of: .cassette(name, rules: rules, mode: mode), body) }
        return try await CollectedIssues { _ in
            try await withCassette(name, rules: rules, mode: mode) { _ in try await body() }
        }
    }

    @discardableResult private static func send(
        _ path: String, over stub: StubConnection = StubConnection { _ in Response(status: .ok) }
    ) async throws -> Int {
        let response = try await CassetteConnection(recording: stub).send(.get("https://example.com" + path))
        _ = try await response.body.text(upTo: 100)
        return response.status.code
    }

    @Test(arguments: [false, true]) func `A miss behind a failed expectation is an issue too, and is attached`(
        isPart: Bool
    )
        async throws
    {
        let name = "hidden-\(isPart)"
        let found = try await issues(name, Self.whole, isPart: isPart) {
            let seen = try? await Self.send("/other")
            #expect(seen == 401)
        }
        #expect(found.issues.count == 2)
        #expect((found.errors.last as? CassetteMissError)?.request == "GET https://example.com/other")
        #expect(found.attached.map(\.name) == ["\(name)-request-1.txt"])
        let text = try #require(found.attached.first?.text)
        #expect(text.hasPrefix("No recording matches request 1.\n  GET https://example.com/other\n"), "\(text)")
        #expect(text.contains("interaction 1 of \(name).json\n\nGET https://example.com/feed\n"), "\(text)")
        #expect(!text.contains("x7Rq2"), "\(text)")
    }

    @Test(arguments: [false, true]) func `A miss that the test throws is attached, and not told again`(isPart: Bool)
        async throws
    {
        let found = try await issues("thrown-\(isPart)", isPart: isPart) { try await Self.send("/login") }
        #expect(found.issues.isEmpty && found.thrown is CassetteMissError)
        #expect(found.attached.map(\.name) == ["thrown-\(isPart)-request-1.txt"])
    }

    @Test(arguments: [true, false]) func `A miss that the test shows is not told again, also within another error`(
        isWrapped: Bool
    ) async throws {
        struct WrappedError: Error, CustomStringConvertible { let description: String }
        let found = try await issues("shown-\(isWrapped)") {
            do {
                try await Self.send("/login?page=2")
            } catch {
                let text = "\(error)".replacing("page=2", with: "REDACTED").replacing("\n", with: "\n    ")
                Issue.record(isWrapped ? WrappedError(description: "The list failed: \(text)") : error)
            }
        }
        #expect(found.issues.count == 1)
    }

    @Test func `A miss of an inner cassette that the test shows does not hide that of the outer one`() async throws {
        try folder.write(to: "inner")
        defer { folder.remove("inner") }
        let found = try await issues("outer") {
            _ = try? await Self.send("/login")
            try await withCassette("inner", mode: .replay) { _ in
                do { try await Self.send("/login") } catch { Issue.record(error) }
            }
        }
        let files = found.errors.compactMap { ($0 as? CassetteMissError)?.file }
        #expect(files.map { $0.contains("inner.json") } == [true, false])
    }

    @Test func `A recording that a test reads beyond is attached in full, without secrets`() async throws {
        let found = try await issues("cut", Self.cut) { _ = try? await Self.send("/feed") }
        #expect(found.errors.count == 1 && found.errors.first is RecordingEndedError)
        #expect(found.attached.map(\.name) == ["cut-failure-1.txt"])
        let text = try #require(found.attached.first?.text)
        #expect(text.hasPrefix("The recording of GET https://example.com/feed ends here, after 7 bytes"), "\(text)")
        #expect(text.contains("\ninteraction 1 of cut.json\n\nGET https://example.com/feed\n"), "\(text)")
        #expect(text.contains("\n200\nContent-Type: text/event-stream\n\ndata: 1\n"), "\(text)")
        #expect(!text.contains("x7Rq2"), "\(text)")
    }

    @Test func `The head of a request with a placeholder is attached, without its content`() async throws {
        let login = """
            {"request": {"method": "GET", "url": "https://example.com/login"}, "response": {"status": 200,
            "headers": {"Content-Type": "application/json"}, "json": {"access_token": "xq1aaaaaa-aaaaa-aaaaa"}}}
            """
        let found = try await issues("placeholder", login, mode: .append) {
            try await Self.send("/login")
            let fields: HTTPFields = [.authorization: "Bearer xq1aaaaaa-aaaaa-aaaaa", .accept: "text/plain"]
            _ = try? await CassetteConnection(recording: StubConnection { _ in Response(status: .ok) })
                .send(.post("https://example.com/me", fields: fields, body: "my words"))
        }
        #expect(found.errors.map { ($0 as? RequestNotSentError)?.reason } == [.placeholder("xq1aaaaaa-aaaaa-aaaaa")])
        #expect(found.attached.map(\.name) == ["placeholder-failure-1.txt"])
        let text = try #require(found.attached.first?.text)
        #expect(text.contains("\n\n----\n\nPOST https://example.com/me\n"), "\(text)")
        #expect(text.contains("\nAccept: text/plain\n"), "\(text)")
        #expect(text.contains("\n(8 bytes)\n") && !text.contains("my words"), "\(text)")
    }

    @Test(arguments: [true, false]) func `In another framework, the miss is reported beside the assertion`(
        hasThrown: Bool
    ) async throws {
        let name = "other-\(hasThrown)"
        try folder.write(to: name)
        defer { folder.remove(name) }
        var faults: [any Error] = []
        var notes: [String] = []
        let report: (any Error) -> Void = { faults.append($0) }
        let note: (String) -> Void = { notes.append($0) }
        try? await DecorumTesting.withCassette(
            name, rules: nil, mode: .replay, clock: SystemClock(), hasFailed: true, filePath: #filePath,
            function: #function, test: nil, onFault: report, onNote: note
        ) { cassette in
            do {
                _ = try await CassetteConnection(cassette).send(.get("https://example.com/login"))
            } catch {
                if hasThrown { throw error }
            }
        }
        #expect(faults.count == (hasThrown ? 0 : 1) && notes.isEmpty)
        #expect(faults.allSatisfy { $0 is CassetteMissError })
    }
}

import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// A rewritten cassette follows a server that gives secrets of another form, and keeps requests that have not changed.
@Suite struct ChangedTokenTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let digits = "9f86d081884c7d65" + "9a2feaa0c55ad015"
    private static let token = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJlMTIz"

    private func login(_ mode: CassetteMode, _ token: String, isShared: Bool) async throws -> String {
        let shared = isShared ? SharedCassettes(isPartial: false) : nil
        let cassette = try CassetteDefaults(shared: shared).cassette(
            at: folder.path("shared.json"), rules: .silent, mode: mode, test: "FeedTests.login")
        let stub = StubConnection { _ in TestRecorder.json(#"{"access_token":"\#(token)"}"#) }
        let connection = CassetteConnection(cassette, recording: stub)
        _ = try await connection.send(.post("https://example.com/login", body: "me"))
        _ = try await connection.send(
            .post("https://example.com/refresh", fields: [.authorization: "Bearer \(token)"], body: "me"))
        try await cassette.finish()
        return try folder.text("shared.json")
    }

    @Test(arguments: [false, true]) func `A secret of another form gets a placeholder of that form`(isShared: Bool)
        async throws
    {
        let first = try await login(.once, Self.digits, isShared: isShared)
        let same = try await login(.rewrite, String(Self.digits.reversed()), isShared: isShared)
        #expect(same == first)
        _ = try await login(.rewrite, Self.token, isShared: isShared)
        let cassette = try Cassette(at: folder.path("shared.json"), mode: .replay, rules: .silent)
        for interaction in try cassette.interactions() {
            let content = String(decoding: interaction.response?.body.bytes ?? Data(), as: UTF8.self)
            #expect(content.split(separator: ".").count == 3, "\(content)")
        }
    }

    @Test(arguments: [2, 32])
    func `A secret of one kind may be longer`(added: Int) async throws {
        let first = try await login(.once, Self.digits, isShared: false)
        let second = try await login(.rewrite, Self.digits + Self.digits.prefix(added), isShared: false)
        #expect(second == first)
    }

    private func upload(_ mode: CassetteMode, _ boundary: String, id: Int, isShared: Bool) async throws
        -> RecordedRequest
    {
        let shared = isShared ? SharedCassettes(isPartial: false) : nil
        let cassette = try CassetteDefaults(shared: shared).cassette(
            at: folder.path("shared.json"), rules: .silent, mode: mode, test: "FeedTests.upload")
        let stub = StubConnection { _ in TestRecorder.json(#"{"id":\#(id)}"#) }
        let content = String(repeating: "text ", count: 2000)
        let form =
            "--\(boundary)\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\(content)\r\n--\(boundary)--\r\n"
        _ = try await CassetteConnection(cassette, recording: stub).send(
            .post(
                "https://example.com/files", fields: [.contentType: "multipart/form-data; boundary=\(boundary)"],
                body: Body(Data(form.utf8))))
        try await cassette.finish()
        let interactions = try Cassette(at: folder.path("shared.json"), mode: .replay).interactions()
        #expect(interactions.map(\.response?.body.bytes) == [Data(#"{"id":\#(id)}"#.utf8)])
        return try #require(interactions.first?.request)
    }

    @Test(arguments: [false, true]) func `An upload whose answer has changed keeps its request`(isShared: Bool)
        async throws
    {
        let first = try await upload(.once, "one", id: 1, isShared: isShared)
        #expect(try await upload(.rewrite, "another", id: 2, isShared: isShared) == first)
    }

    @Test func `The tests of a suite report the place of a replaced value once, whatever the file`() async throws {
        let reports = Mutex<[[String]]>([])
        var rules = CassetteRules()
        rules.reportReplacements = { list, _ in reports.withLock { $0.append(list.map(\.place)) } }
        let answer = #"{"access_token":"\#(Self.digits)"}"#
        let defaults = CassetteDefaults(rules: rules, shared: SharedCassettes(isPartial: false))
        for (number, name) in ["shared.json", "shared.json", "other.json"].enumerated() {
            let cassette = try defaults.cassette(
                at: folder.path(name), rules: nil, mode: .once, test: "FeedTests.login\(number)")
            let connection = CassetteConnection(cassette, recording: StubConnection { _ in TestRecorder.json(answer) })
            for _ in 0...number { _ = try await connection.send(.post("https://example.com/login", body: "me")) }
            try await cassette.finish()
        }
        #expect(reports.withLock { $0 } == [["access_token in JSON"]])
    }
}

import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Records and plays cassettes in a folder of its own, on a clock of its own.
struct TestRecorder {
    let folder = TemporaryFolder()
    let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_793_300_000))

    func cassette(_ mode: CassetteMode, _ name: String = "feed.json", rules: CassetteRules = CassetteRules()) throws
        -> Cassette
    {
        try Cassette(at: folder.path(name), mode: mode, rules: rules, clock: clock)
    }

    /// Sends requests through a cassette in a mode, and ends its run.
    func run(
        _ mode: CassetteMode, _ requests: [Request], rules: CassetteRules = CassetteRules(),
        answer: @escaping StubConnection.Answer = { _ in throw StubExhaustedError(method: .get) }
    ) async throws -> [String] {
        let cassette = try cassette(mode, rules: rules)
        let connection = CassetteConnection(cassette, recording: StubConnection(answer))
        var texts: [String] = []
        for request in requests {
            texts.append(try await connection.send(request).body.text(upTo: 1 << 20))
        }
        try await cassette.finish()
        return texts
    }

    /// Records some requests, plays the first of them, and returns the text of the miss of another one.
    func miss(_ live: Request, recorded: [Request], played: Int = 0) async throws -> String {
        _ = try await run(.rewrite, recorded) { _ in Response(status: .ok) }
        let connection = CassetteConnection(try cassette(.replay))
        for request in recorded.prefix(played) { _ = try await connection.send(request) }
        let error = await #expect(throws: CassetteMissError.self) { try await connection.send(live) }
        return try #require(error).description
    }

    static func json(_ text: String) -> Response {
        Response(status: .ok, fields: [.contentType: "application/json"], body: Body(text))
    }
}

/// A temporary folder for one test, deleted when the value is released.
final class TemporaryFolder: Sendable {
    let url: URL

    init() {
        url = FileManager.default.temporaryDirectory.appending(path: "decorum-\(UInt64.random(in: .min ... .max))")
        #expect(throws: Never.self) {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        }
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    func path(_ name: String) -> String { url.appending(path: name).path }

    func text(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: url.appending(path: name)), as: UTF8.self)
    }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: url.appending(path: name))
    }
}

extension CassetteRules {
    /// The default rules, without the list of replaced secrets that a recording prints, and without the process's variables.
    static let silent: CassetteRules = {
        var rules = CassetteRules()
        rules.reportReplacements = nil
        rules.environment = [:]
        return rules
    }()
}

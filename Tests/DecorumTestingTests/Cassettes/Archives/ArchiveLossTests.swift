import Decorum
import DecorumArchive
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// An archive that a cassette writes tells what the format has no place for.
@Suite struct ArchiveLossTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func losses(recording paths: [String]) async throws -> [ExportLoss] {
        let losses = Mutex<[ExportLoss]>([])
        var rules = CassetteRules()
        rules.reportLosses = { found, file in
            #expect(file.lastPathComponent == "feed.har")
            losses.withLock { $0 += found }
        }
        let cassette = try Cassette(at: folder.path("feed.har"), mode: .append, rules: rules)
        let connection = CassetteConnection(
            cassette,
            recording: StubConnection { request in
                if request.head.path == "/lost" { throw TransportError(.connectionLost, at: .head) }
                return Response(status: .ok, body: "whole")
            })
        for path in paths { _ = try? await connection.send(.get("https://example.com" + path)) }
        try await cassette.finish()
        return losses.withLock { $0 }
    }

    @Test func `Recording on an archive reports the losses of what is new`() async throws {
        let first = try await losses(recording: ["/a", "/lost"])
        #expect(first.map(\.kind) == [.failure])
        #expect(first.map(\.interaction) == [2])
        #expect(first.first?.message.contains("connectionLost") == true)
        #expect(try await losses(recording: ["/b"]).isEmpty)
        #expect(try await losses(recording: ["/lost", "/a", "/b", "/lost"]).map(\.interaction) == [4])
    }

    @Test(arguments: ["feed.json", "feed.har"])
    func `A field that is not UTF-8 is reported when it is recorded`(file: String) async throws {
        let losses = Mutex<[ExportLoss]>([])
        var rules = CassetteRules()
        rules.reportLosses = { found, _ in losses.withLock { $0 += found } }
        let cassette = try Cassette(at: folder.path(file), mode: .append, rules: rules)
        let text = HTTPField(name: .server, value: "é")
        let bytes = HTTPField(name: .contentDisposition, lenientValue: [0x61, 0xE9])
        let connection = CassetteConnection(
            cassette,
            recording: StubConnection { request in
                let fields = request.head.path == "/a" ? HTTPFields([text]) : HTTPFields([text, bytes])
                return Response(status: .ok, fields: fields, body: "whole")
            })
        for path in ["/a", "/b"] { _ = try await connection.send(.get("https://example.com" + path)) }
        try await cassette.finish()
        #expect(
            losses.withLock { $0.map(\.description) }
                == ["interaction 2: The field Content-Disposition of the response is not UTF-8."])
    }

    @Test func `Exporting reports each loss to the closure, or else to the rules`() throws {
        try folder.write(
            """
            {"cassette": 1, "interactions": [{"request": {"method": "GET", "url": "https://example.com/"},
            "error": {"kind": "timedOut", "after": "head"}, "at": "2026-11-01"}]}
            """, to: "feed.json")
        let reported = Mutex<[ExportLoss]>([])
        var rules = CassetteRules()
        rules.reportLosses = { losses, _ in reported.withLock { $0 += losses } }
        let cassette = try Cassette(at: folder.path("feed.json"), mode: .replay, rules: rules)
        var told: [ExportLoss] = []
        let archive = try cassette.archive { told.append($0) }
        #expect(archive.entries.count == 1)
        #expect(told.map(\.kind) == [.failure])
        #expect(reported.withLock { $0.isEmpty })
        _ = try cassette.archive()
        #expect(reported.withLock { $0 } == told)
    }
}

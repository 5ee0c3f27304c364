import Decorum
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTesting

/// A secret at each of many places reaches no text that a cassette shows or writes beside its file: misses and their reports,
/// explanations, the differences that verifying finds, and the report of the run.
@Suite(.timeLimit(.minutes(3))) struct PlantedOutputTests {
    private static let base = """
        {"cassette": 1, "interactions": [{"request": {"method": "GET", "url": "https://api.example.com/items"},
        "response": {"status": 200, "headers": {"Content-Type": "application/json"}, "json": {"a": 1}}}]}
        """

    let folder: TemporaryFolder
    private let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_793_300_000))

    init() throws {
        folder = try TemporaryFolder()
    }

    private func cassette(_ name: String, _ mode: CassetteMode, rules: CassetteRules = .silent) throws -> Cassette {
        try Cassette(at: folder.path(name), mode: mode, rules: rules, clock: clock)
    }

    /// Sends the request with the secret through a cassette, to a server whose answer has a status.
    private func send(_ planted: PlantedSecret, through cassette: Cassette, answer status: HTTPResponse.Status)
        async throws
    {
        let stub = StubConnection { _ in planted.response(status) }
        _ = try await CassetteConnection(cassette, recording: stub).send(planted.request()).body.collect(upTo: 10_000)
    }

    private func texts(of error: any Error) -> [String] {
        ["\(error)", String(reflecting: error), Redaction.standard.description(of: error)]
    }

    /// Records an exchange with the secret; a file is left also where it is refused.
    private func recorded(_ planted: PlantedSecret) async throws -> [String] {
        let cassette = try cassette("a.json", .rewrite)
        try await send(planted, through: cassette, answer: .ok)
        do {
            try await cassette.finish()
            return []
        } catch let error as SecretFoundError {
            try folder.write(Self.base, to: "a.json")
            return texts(of: error)
        }
    }

    /// Misses the recording by the method alone, so that all else is compared.
    private func missed(_ planted: PlantedSecret) async throws -> [String] {
        let explained = Mutex<[String]>([])
        var rules = CassetteRules.silent
        rules.reportExplanations = { explanation in
            explained.withLock { $0 += [explanation.description, explanation.details] }
        }
        var outputs: [String] = []
        for file in ["a.json", "base.json"] {
            let replaying = try cassette(file, .replay, rules: rules)
            var request = try planted.request()
            request.head.method = .patch
            let sent = request
            let miss = await #expect(throws: CassetteMissError.self) {
                try await CassetteConnection(replaying).send(sent)
            }
            let error = try #require(miss)
            outputs += texts(of: error) + [error.report]
            await #expect(throws: CassetteMissError.self) { try await replaying.finish() }
        }
        let explanations = explained.withLock { $0 }
        #expect(explanations.count == 4)
        return outputs + explanations
    }

    /// Verifies recordings against a server that refuses, and against one that answers with something else.
    private func verified(_ planted: PlantedSecret) async throws -> [String] {
        var outputs: [String] = []
        let refused = try cassette("base.json", .verify)
        try await send(planted, through: refused, answer: .badRequest)
        let drift = await #expect(throws: CassetteDriftError.self) { try await refused.finish() }
        outputs += texts(of: try #require(drift))
        for file in ["a.json", "base.json"] {
            let changed = try cassette(file, .verify)
            try await send(planted, through: changed, answer: .ok)
            if let drift = await changed.driftOfFailedTest() { outputs += texts(of: drift) }
            do { try await changed.finish() } catch { outputs += texts(of: error) }
        }
        return outputs
    }

    @Test(arguments: PlantedSecret.all + PlantedSecret.recorded)
    func `No miss, explanation, difference or report of a run holds it`(planted: PlantedSecret) async throws {
        try folder.write(Self.base, to: "base.json")
        let report = CassetteReportFile(at: folder.path("report"), isPartial: false, run: "1")
        var outputs = try await CassetteDefaults.$current.withValue(CassetteDefaults(report: report)) {
            try await recorded(planted) + missed(planted) + verified(planted)
        }
        outputs += try [folder.text("report.json"), folder.text("report.txt")]
        let counts = try report.report().counts
        #expect(counts.missed == 2 && counts.changed > 0)
        // The random name of the folder may hold the digits of a short secret.
        planted.expectAbsence(from: outputs.map { $0.replacing(folder.url.path, with: "") })
    }
}

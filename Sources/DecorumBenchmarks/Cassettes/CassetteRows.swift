import Decorum
import DecorumTesting
import Foundation

/// The costs of playing an interaction, compared with a stub that returns the same answer.
///
/// The bounds are the counted values, plus a tenth for instructions, and twelve allocations for opening a cassette, for
/// two more variables of the environment.
enum CassetteRows {
    static func rows() -> [Row] {
        let stub = StubConnection(SampleCassette.answer)
        let tape = Tape()
        return [
            Row(name: "cassettes/stub") { count in
                try await tape.play(count) { _ in stub }
            },
            Row(
                name: "cassettes/replay", baseline: "cassettes/stub",
                bounds: [.instructionsPerLayer(29_000), .allocationsPerLayer(12.1)]
            ) { count in
                try await tape.play(count) { CassetteConnection($0) }
            },
            Row(
                name: "cassettes/open 100 interactions", bounds: [.instructions(3_260_000), .allocations(482)]
            ) { count in
                try await tape.open(count)
            },
        ]
    }
}

/// A cassette whose interactions are played in order; repeated requests get the last one of each.
private actor Tape {
    private static let length = 2000

    private var cassette: Cassette?
    private var next = 0
    /// A cassette of a hundred interactions, as bytes.
    private var small: Data?

    func play<Source: Connection>(
        _ count: Int, through connection: @Sendable (_ cassette: Cassette) -> Source
    ) async throws {
        let connection = connection(try await opened())
        for _ in 0..<count {
            let response = try await connection.send(SampleCassette.request(next))
            guard try await response.body.data(upTo: 1 << 10).count > 0 else {
                throw BenchmarkFailure("An answer has no content.")
            }
            next = (next + 1) % Self.length
        }
    }

    /// Opens a cassette of a hundred interactions a number of times.
    func open(_ count: Int) async throws {
        try await SampleCassette.withFolder { folder in
            let file = folder.appending(path: "small.json")
            if small == nil { small = try Data(contentsOf: await SampleCassette(count: 100, in: folder).file) }
            try small?.write(to: file)
            for _ in 0..<count { _ = try Cassette(at: file.path, mode: .replay) }
        }
    }

    private func opened() async throws -> Cassette {
        if let cassette { return cassette }
        let opened = try await SampleCassette.withFolder { folder in
            let file = try await SampleCassette(count: Self.length, in: folder).file
            return try Cassette(at: file.path, mode: .replay, rules: CassetteRules(repeats: .last))
        }
        cassette = opened
        return opened
    }
}

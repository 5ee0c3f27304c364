import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

/// Measures the time to open a cassette, and the costs of playing each of its interactions.
enum CassetteBenchmark {
    static func measure(_ arguments: Arguments) async throws -> [Reading] {
        let names = [
            "cassettes/JSONDecoder, 10,000", "cassettes/open, 10,000", "cassettes/open, 100,000",
            "cassettes/stub, 10,000", "cassettes/replay each once, 10,000", "cassettes/open and add one, 10,000",
            "cassettes/open and add a secret, 10,000",
        ]
        guard names.contains(where: { arguments.includes($0) }) else { return [] }
        return try await TemporaryFolder.with { folder in
            let sample = try await SampleCassette(count: 10_000, in: folder)
            let large = try await SampleCassette(count: 100_000, in: folder)
            let stub = StubConnection(SampleCassette.answer)
            var cassettes = try (0...ProcessUsage.rounds).map { _ in try Cassette(at: sample.file.path, mode: .replay) }
            let operations: [() async throws -> Void] = [
                { _ = try JSONDecoder().decode(DecodedCassette.self, from: Data(contentsOf: sample.file)) },
                { try await Self.open(sample) },
                { try await Self.open(large) },
                { try await Self.exchange(sample.count, through: stub) },
                { try await Self.exchange(sample.count, through: CassetteConnection(cassettes.removeLast())) },
                { try await Self.add(to: sample) },
                { try await Self.add(to: sample, [.authorization: "Bearer \(UUID())"]) },
            ]
            let times = try await ProcessUsage.times(operations)
            return [nil, 0, 1, nil, 3, 1, 1].enumerated().map { number, baseline in
                let count = Double(number == 2 ? large.count : sample.count)
                let (median, base) = (times[number].median, baseline.map { times[$0] } ?? [])
                let pairs = zip(times[number], base)
                var reading = Reading(
                    names[number], [.milliseconds: median / 1e6, .eachTime: median / 1e3 / count])
                if number < 3 { reading[.megabytes] = (number == 2 ? large : sample).bytes.map { Double($0) / 1e6 } }
                guard !base.isEmpty else { return reading }
                reading[.processor] = pairs.map { $0 / $1 }.median
                reading[.added] = pairs.map { $0 - $1 }.median / count / 1e3
                return reading
            }
        }
    }

    /// Opens a cassette, and plays its last interaction, so that no work can be deferred.
    private static func open(_ sample: SampleCassette) async throws {
        let cassette = try Cassette(at: sample.file.path, mode: .replay)
        _ = try await CassetteConnection(cassette).send(SampleCassette.request(sample.count - 1))
    }

    /// Opens a cassette, and adds one interaction, which the next round finds as one more.
    private static func add(to sample: SampleCassette, _ fields: HTTPFields = [:]) async throws {
        let cassette = try Cassette(at: sample.file.path, mode: .append)
        let connection = CassetteConnection(cassette, recording: StubConnection(SampleCassette.answer))
        _ = try await connection.send(.get("https://api.example.com/v1/new/\(cassette.unplayed.count)", fields: fields))
        try await cassette.finish()
    }

    private static func exchange(_ count: Int, through connection: some Connection) async throws {
        for index in 0..<count {
            let response = try await connection.send(SampleCassette.request(index))
            guard try await response.body.data(upTo: 1 << 10).count > 0 else {
                throw BenchmarkFailure("An answer has no content.")
            }
        }
    }
}

/// The costs of playing an interaction, compared with a stub that returns the same answer.
///
/// The bounds are the counted values, plus a tenth for instructions, and twelve allocations for opening a cassette, for two more
/// variables of the environment.
enum CassetteRows {
    static func rows() -> [Row] {
        let stub = StubConnection(SampleCassette.answer)
        let tape = Tape()
        return [
            Row("cassettes/stub") { count in
                try await tape.play(count) { _ in stub }
            },
            Row(
                "cassettes/replay", over: "cassettes/stub",
                bounds: [.instructionsPerLayer: 42_800, .allocationsPerLayer: 20]
            ) { count in
                try await tape.play(count) { CassetteConnection($0) }
            },
            Row("cassettes/open 100 interactions", bounds: [.instructions: 3_950_000, .allocations: 660]) { count in
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
        try await TemporaryFolder.with { folder in
            let file = folder.appending(path: "small.json")
            if small == nil { small = try Data(contentsOf: await SampleCassette(count: 100, in: folder).file) }
            try small?.write(to: file)
            for _ in 0..<count { _ = try Cassette(at: file.path, mode: .replay) }
        }
    }

    private func opened() async throws -> Cassette {
        if let cassette { return cassette }
        let opened = try await TemporaryFolder.with { folder in
            let file = try await SampleCassette(count: Self.length, in: folder).file
            return try Cassette(at: file.path, mode: .replay, rules: CassetteRules(repeats: .last))
        }
        cassette = opened
        return opened
    }
}

/// A cassette like that of an API client: items in JSON, a query on a third of the URLs, a few fields.
struct SampleCassette {
    let count: Int
    /// The file, in a temporary folder that is removed after the benchmark.
    let file: URL

    /// Records the cassette with the library's own recorder.
    init(count: Int, in folder: URL) async throws {
        self.count = count
        file = folder.appending(path: "sample-\(count).json")
        let cassette = try Cassette(at: file.path, mode: .rewrite)
        let connection = CassetteConnection(cassette, recording: StubConnection(Self.answer))
        for index in 0..<count { _ = try await connection.send(Self.request(index)) }
        try await cassette.finish()
    }

    /// The size of the file.
    var bytes: Int? { try? file.resourceValues(forKeys: [.fileSizeKey]).fileSize }

    static func request(_ index: Int) throws -> Request {
        let query = index % 3 == 0 ? "?page=\(index / 3)&sort=name" : ""
        return try .get("https://api.example.com/v1/items/\(index)\(query)", fields: [.accept: "application/json"])
    }

    @Sendable static func answer(_ request: Request) async throws -> Response {
        let item = request.head.path ?? ""
        let body = """
            {"id":"\(item)","name":"An item","price":12.50,"tags":["new"]}
            """
        return Response(status: .ok, fields: [.contentType: "application/json"], body: Body(Data(body.utf8)))
    }
}

/// A cassette for comparison, decoded completely and at once by `Codable`.
struct DecodedCassette: Decodable {
    struct Interaction: Decodable {
        let request: Request
        let response: Response
        let at: String
    }

    struct Request: Decodable {
        let method: String
        let url: String
        let headers: [String: String]?
    }

    struct Response: Decodable {
        let status: Int
        let headers: [String: String]?
        let json: Item
    }

    struct Item: Decodable {
        let id: String
        let name: String
        let price: Double
        let tags: [String]
    }

    let cassette: Int
    let interactions: [Interaction]
}

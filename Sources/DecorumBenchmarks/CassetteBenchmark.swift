import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

/// Measures the time to open a cassette, and the costs of playing each of its interactions.
struct CassetteBenchmark {
    private let arguments: Arguments

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    func measure() async throws -> [CassetteReading] {
        guard Self.names.contains(where: { arguments.includes($0) }) else { return [] }
        return try await SampleCassette.withFolder { folder in
            let sample = try await SampleCassette(count: 10_000, in: folder)
            let large = try await SampleCassette(count: 100_000, in: folder)
            let stub = StubConnection(SampleCassette.answer)
            var cassettes = try (0...arguments.rounds).map { _ in try Cassette(at: sample.file.path, mode: .replay) }
            let times = try await time([
                { _ = try JSONDecoder().decode(DecodedCassette.self, from: Data(contentsOf: sample.file)) },
                { try await Self.open(sample) },
                { try await Self.open(large) },
                { try await Self.exchange(sample.count, through: stub) },
                { try await Self.exchange(sample.count, through: CassetteConnection(cassettes.removeLast())) },
                { try await Self.add(to: sample) },
                { try await Self.add(to: sample, [.authorization: "Bearer \(UUID())"]) },
            ])
            func reading(_ number: Int, of file: SampleCassette? = nil, beside other: Int? = nil) -> CassetteReading {
                CassetteReading(
                    name: Self.names[number], count: (file ?? sample).count, times: times[number], bytes: file?.bytes,
                    baseline: other.map { times[$0] })
            }
            return [
                reading(0, of: sample), reading(1, of: sample, beside: 0), reading(2, of: large, beside: 1),
                reading(3), reading(4, beside: 3), reading(5, beside: 1), reading(6, beside: 1),
            ]
        }
    }

    private static let names = [
        "cassettes/JSONDecoder, 10,000", "cassettes/open, 10,000", "cassettes/open, 100,000",
        "cassettes/stub, 10,000", "cassettes/replay each once, 10,000", "cassettes/open and add one, 10,000",
        "cassettes/open and add a secret, 10,000",
    ]

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

    /// The processor times of each operation, in nanoseconds; the first round, which fills caches, is left out.
    ///
    /// The operations take turns, so that a machine that becomes slower for a while slows all of them down.
    private func time(_ operations: [() async throws -> Void]) async throws -> [[Double]] {
        var times = Array(repeating: [Double](), count: operations.count)
        for round in 0...arguments.rounds {
            for (number, operation) in operations.enumerated() {
                let start = ProcessUsage.processorTime
                try await operation()
                if round > 0 { times[number].append(ProcessUsage.processorTime - start) }
            }
        }
        return times
    }
}

/// The measurements of one operation on a cassette.
struct CassetteReading: Encodable {
    let name: String
    /// The number of interactions.
    let count: Int
    /// The size of the file; nil when no file is read.
    let bytes: Int?
    /// The processor time for all interactions, in nanoseconds.
    let median: Double
    let minimum: Double
    /// The time as a share of the baseline's in the same round.
    let ratio: Double?
    /// The time of one interaction beyond the baseline's, in nanoseconds.
    let added: Double?

    init(name: String, count: Int, times: [Double], bytes: Int? = nil, baseline: [Double]? = nil) {
        self.name = name
        self.count = count
        self.bytes = bytes
        median = times.median
        minimum = times.min() ?? 0
        ratio = baseline.map { zip(times, $0).map { $0 / $1 }.median }
        added = baseline.map { zip(times, $0).map { $0 - $1 }.median / Double(count) }
    }
}

extension CassetteReading: Judged {
    var row: String { name }

    func value(of quantity: Target.Quantity) -> Double? {
        switch quantity {
        case .processor: ratio
        case .added: added.map { $0 / 1e3 }
        case .time: median / 1e3
        case .rate, .instructions, .instructionRatio, .futexCalls: nil
        }
    }
}

extension Table {
    init(_ readings: [CassetteReading]) {
        header = ["cassette", "MB", "time ÷ one above", "ms", "ms min", "µs each", "µs each, added"]
        rows = readings.map { reading in
            [
                reading.name, reading.bytes.map { Double($0) / 1e6 }.text, reading.ratio.text,
                (reading.median / 1e6).text, (reading.minimum / 1e6).text,
                (reading.median / 1e3 / Double(reading.count)).text, reading.added.map { $0 / 1e3 }.text,
            ]
        }
    }
}

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
                bounds: [.instructionsPerLayer(60_500), .allocationsPerLayer(38.8)]
            ) { count in
                try await tape.play(count) { CassetteConnection($0) }
            },
            Row(
                name: "cassettes/open 100 interactions", bounds: [.instructions(5_950_000), .allocations(2250)]
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

    /// Creates a folder for cassettes, and removes it after the closure.
    static func withFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "benchmarks-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await body(folder)
    }

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

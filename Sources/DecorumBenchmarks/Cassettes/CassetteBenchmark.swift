import Decorum
import DecorumTesting
import Foundation

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
            let decoding = try await time {
                _ = try JSONDecoder().decode(DecodedCassette.self, from: Data(contentsOf: sample.file))
            }
            let opening = try await time { try await Self.open(sample) }
            let openingLarge = try await time { try await Self.open(large) }
            let stub = StubConnection(SampleCassette.answer)
            let stubbing = try await time { try await Self.exchange(sample.count, through: stub) }
            var cassettes = try (0...arguments.rounds).map { _ in try Cassette(at: sample.file.path, mode: .replay) }
            let playing = try await time {
                try await Self.exchange(sample.count, through: CassetteConnection(cassettes.removeLast()))
            }
            let adding = try await time { try await Self.add(to: sample) }
            return [
                CassetteReading(name: Self.names[0], count: 10_000, times: decoding, bytes: sample.bytes),
                CassetteReading(
                    name: Self.names[1], count: 10_000, times: opening, bytes: sample.bytes, baseline: decoding),
                CassetteReading(
                    name: Self.names[2], count: 100_000, times: openingLarge, bytes: large.bytes, baseline: opening),
                CassetteReading(name: Self.names[3], count: 10_000, times: stubbing),
                CassetteReading(name: Self.names[4], count: 10_000, times: playing, baseline: stubbing),
                CassetteReading(name: Self.names[5], count: 10_000, times: adding, baseline: opening),
            ]
        }
    }

    private static let names = [
        "cassettes/JSONDecoder, 10,000", "cassettes/open, 10,000", "cassettes/open, 100,000",
        "cassettes/stub, 10,000", "cassettes/replay each once, 10,000", "cassettes/open and add one, 10,000",
    ]

    /// Opens a cassette, and plays its last interaction, so that no work can be deferred.
    private static func open(_ sample: SampleCassette) async throws {
        let cassette = try Cassette(at: sample.file.path, mode: .replay)
        _ = try await CassetteConnection(cassette).send(SampleCassette.request(sample.count - 1))
    }

    /// Opens a cassette, and adds one interaction, which the next round finds as one more.
    private static func add(to sample: SampleCassette) async throws {
        let cassette = try Cassette(at: sample.file.path, mode: .append)
        let connection = CassetteConnection(cassette, recording: StubConnection(SampleCassette.answer))
        _ = try await connection.send(.get("https://api.example.com/v1/new/\(cassette.unplayed.count)"))
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

    /// The processor time of each round, in nanoseconds; the first, which fills caches, is left out.
    private func time(_ operation: () async throws -> Void) async throws -> [Double] {
        var times: [Double] = []
        for _ in 0...arguments.rounds {
            let start = ProcessUsage.processorTime
            try await operation()
            times.append(ProcessUsage.processorTime - start)
        }
        return Array(times.dropFirst())
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
    /// The time as a share of the baseline's.
    let ratio: Double?
    /// The time of one interaction beyond the baseline's, in nanoseconds.
    let added: Double?

    init(name: String, count: Int, times: [Double], bytes: Int? = nil, baseline: [Double]? = nil) {
        self.name = name
        self.count = count
        self.bytes = bytes
        median = times.median
        minimum = times.min() ?? 0
        ratio = baseline.map { times.median / $0.median }
        added = baseline.map { (times.median - $0.median) / Double(count) }
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

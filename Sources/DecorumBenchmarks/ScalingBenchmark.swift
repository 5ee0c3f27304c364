import Decorum
import DecorumCookies
import DecorumTesting
import Foundation
import HTTPTypes

/// Measures how costs grow with the number of layers, fields, stored responses, interactions and unread responses.
struct ScalingBenchmark {
    private let arguments: Arguments
    /// Whether the largest sizes are measured too.
    private let isFull = ProcessInfo.processInfo.environment["DECORUM_SOAK"] == "1"
    private static let rounds = 5

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    func measure() async throws -> [SeriesReading] {
        var readings: [SeriesReading] = []
        for series in ScalingSeries.all where arguments.includes(series.name) {
            readings.append(try await measure(series))
        }
        return readings
    }

    private func measure(_ series: Series) async throws -> SeriesReading {
        let sizes = series.sizes + (isFull ? series.furtherSizes : [])
        var costs: [Double] = []
        for size in sizes {
            let prepared = try await series.prepare(size)
            var least = Double.infinity
            // The first round, which fills caches, is rarely the least.
            for _ in 0..<Self.rounds {
                let start = ProcessUsage.processorTime
                try await prepared.perform()
                least = min(least, (ProcessUsage.processorTime - start) / Double(prepared.units))
            }
            costs.append(least)
        }
        return SeriesReading(name: series.name, sizes: sizes, costs: costs)
    }
}

/// The series that are measured; requests under way on sockets are rows of transports.
enum ScalingSeries {
    static let all = [layers, fields, fieldsOfHit, entries, cookies, cassettes, unread]

    private static let repetitions = 500

    /// One layer of a stack, of the five decorators in turn.
    private static let layers = Series(name: "scaling/layers", sizes: [1, 5, 10, 20, 30], furtherSizes: []) { size in
        let connection = StackRows.stack(size, MemoryConnection())
        let request = try Request.sample()
        return Series.Prepared(units: repetitions * size) {
            for _ in 0..<repetitions { _ = try await connection.send(request) }
        }
    }

    /// One field of a request through the whole stack.
    private static let fields = Series(name: "scaling/fields, miss", sizes: [10, 50, 100, 200], furtherSizes: []) {
        try canonical($0, MemoryConnection())
    }

    private static let fieldsOfHit = Series(name: "scaling/fields, hit", sizes: [10, 50, 100, 200], furtherSizes: []) {
        try canonical($0, MemoryConnection(fields: [.cacheControl: "max-age=86400"]))
    }

    private static func canonical(_ fields: Int, _ memory: MemoryConnection) throws -> Series.Prepared {
        let connection = try canonicalStack(over: memory, for: Origin("https://api.example.com"))
        let request = try Request.sample("/v1/feed", furtherFields: fields)
        let repetitions = repetitions / 10
        return Series.Prepared(units: repetitions * fields) {
            for _ in 0..<repetitions { _ = try await connection.send(request) }
        }
    }

    /// One hit of a cache with so many responses, from all over its store.
    private static let entries = Series(
        name: "scaling/stored responses", sizes: [100, 1000, 10_000], furtherSizes: [100_000, 1_000_000]
    ) { size in
        let fresh = MemoryConnection(fields: [.cacheControl: "max-age=86400", .contentType: "text/plain"])
        let connection = fresh.caching(in: MemoryResponseStore(byteLimit: .max, countLimit: .max))
        for index in 0..<size { _ = try await connection.send(item(index)) }
        let requests = try (0..<repetitions).map { try item($0 &* 7919 % size) }
        return Series.Prepared(units: repetitions) {
            for request in requests {
                guard try await connection.send(request).metadata.source == .cache else {
                    throw BenchmarkFailure("A response is not a hit.")
                }
            }
        }
    }

    /// One request that gets two cookies, out of a jar with so many for other sites.
    private static let cookies = Series(
        name: "scaling/cookies", sizes: [100, 1000, 10_000], furtherSizes: [100_000]
    ) { size in
        let jar = CookieJar(limits: .init(total: size + 2))
        for index in 0...(size / 2) {
            guard let site = URL(string: "https://api\(index).example\(index).com/") else { continue }
            for name in ["session", "theme"] { jar.set(SetCookie(name: name, value: "value"), from: site) }
        }
        let connection = MemoryConnection().keepingCookies(in: jar)
        let requests = try (0..<repetitions).map {
            try Request.sample("https://api\($0 &* 7919 % (size / 2)).example\($0 &* 7919 % (size / 2)).com/")
        }
        return Series.Prepared(units: repetitions) {
            for request in requests { _ = try await connection.send(request) }
        }
    }

    /// One interaction of a cassette that is opened.
    private static let cassettes = Series(
        name: "scaling/interactions", sizes: [100, 1000, 10_000], furtherSizes: [100_000]
    ) { size in
        let file = try await SampleCassette.withFolder { folder in
            try Data(contentsOf: await SampleCassette(count: size, in: folder).file)
        }
        return Series.Prepared(units: size) {
            try await SampleCassette.withFolder { folder in
                let copy = folder.appending(path: "sample.json")
                try file.write(to: copy)
                let cassette = try Cassette(at: copy.path, mode: .replay)
                _ = try await CassetteConnection(cassette).send(SampleCassette.request(size - 1))
            }
        }
    }

    /// One response that a cache stores while it is read, beside so many whose bodies nobody reads.
    private static let unread = Series(
        name: "scaling/unread responses", sizes: [1, 100, 1000], furtherSizes: [10_000]
    ) { size in
        let connection = StreamingConnection(fields: [.cacheControl: "max-age=86400"]).caching(
            in: MemoryResponseStore())
        var unread: [Response] = []
        for index in 0..<size { unread.append(try await connection.send(item(index))) }
        let responses = unread
        return Series.Prepared(units: repetitions) {
            for index in 0..<repetitions {
                _ = try await connection.send(item(size + index)).body.data(upTo: 1000)
            }
            withExtendedLifetime(responses) {}
        }
    }

    private static func item(_ index: Int) throws -> Request {
        try .sample("https://api.example.com/v1/items/\(index)")
    }
}

/// An operation at several sizes, whose cost must not grow faster than n log n in all.
struct Series: Sendable {
    let name: String
    /// The sizes, smallest first.
    let sizes: [Int]
    /// The sizes of the full run, which takes minutes.
    let furtherSizes: [Int]
    /// Prepares a size, and returns an operation with the number of units among which its cost is divided.
    let prepare: @Sendable (_ size: Int) async throws -> Prepared

    struct Prepared: Sendable {
        /// The units of work: the things of the size where the operation does something for each, or else its repetitions.
        let units: Int
        let perform: @Sendable () async throws -> Void
    }
}

/// The cost of a series at each of its sizes.
struct SeriesReading: Encodable {
    let name: String
    let sizes: [Int]
    /// The least processor time of one unit at each size, in nanoseconds.
    let costs: [Double]

    // Timed, so a unit may take this much more than the law allows: caches of the processor are smaller than the largest
    // sizes, where a lookup takes up to twice as long.
    private static let slack = 2.5

    /// The cost of a unit at the largest size, over that at the smallest.
    var growth: Double { (costs.last ?? 0) / max(costs.first ?? 1, 1) }

    /// The largest growth of the cost of one unit with which all n of them take n log n.
    var limit: Double {
        guard let first = sizes.first, let last = sizes.last else { return 1 }
        return Self.slack * log(Double(last) + 1) / log(Double(first) + 1)
    }

    var failures: [String] {
        guard growth > limit else { return [] }
        return [
            "\(name): a unit costs \(growth.text) times as much at \(sizes.last ?? 0) as at \(sizes.first ?? 0), and may "
                + limit.text
        ]
    }
}

extension SeriesReading: Judged {
    var row: String { name }

    /// Nothing: the growth has a bound of its own.
    func value(of quantity: Target.Quantity) -> Double? { nil }
}

extension Table {
    init(_ readings: [SeriesReading]) {
        header = ["scaling", "sizes", "µs of one", "growth", "may be"]
        rows = readings.map { reading in
            [
                reading.name, reading.sizes.map { "\($0)" }.joined(separator: " "),
                reading.costs.map { ($0 / 1e3).text }.joined(separator: " "), reading.growth.text, reading.limit.text,
            ]
        }
    }
}

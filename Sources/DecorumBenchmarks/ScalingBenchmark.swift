import Decorum
import DecorumCookies
import DecorumTesting
import Foundation
import HTTPTypes

/// An operation at several sizes, whose cost must not grow faster than n log n in all.
struct Series: Sendable {
    let name: String
    /// The sizes, smallest first.
    let sizes: [Int]
    /// The sizes of the full run, which takes minutes.
    var furtherSizes: [Int] = []
    let prepare: @Sendable (_ size: Int) async throws -> Work
}

/// An operation, and the number of units among which its cost is divided: the things of the size where it does something for
/// each, or else its repetitions.
struct Work: Sendable {
    let units: Int
    let perform: @Sendable () async throws -> Void
}

/// Measures how costs grow with the number of layers, fields, stored responses, interactions and unread responses.
enum ScalingBenchmark {
    // Timed, so a unit may take this much more than the law allows: caches of the processor are smaller than the largest
    // sizes, where a lookup takes up to twice as long.
    private static let slack = 2.5

    static func measure(_ arguments: Arguments) async throws -> [Reading] {
        let isFull = ProcessInfo.processInfo.environment["DECORUM_SOAK"] == "1"
        var readings: [Reading] = []
        for series in ScalingSeries.all where arguments.includes(series.name) {
            let sizes = series.sizes + (isFull ? series.furtherSizes : [])
            var costs: [Double] = []
            for size in sizes {
                let work = try await series.prepare(size)
                // The first round, which fills caches, is rarely the least.
                let times = try await ProcessUsage.times([work.perform])[0]
                costs.append((times.min() ?? 0) / Double(work.units) / 1e3)
            }
            guard let first = sizes.first, let last = sizes.last else { continue }
            // The largest growth of the cost of one unit with which all n of them take n log n.
            let limit = slack * log(Double(last) + 1) / log(Double(first) + 1)
            readings.append(
                Reading(
                    series.name,
                    [
                        .smallest: costs.first, .largest: costs.last,
                        .growth: (costs.last ?? 0) / max(costs.first ?? 1, 1e-3),
                    ], limits: [.growth: limit]))
        }
        return readings
    }
}

/// The series that are measured; requests under way on sockets are rows of transports.
enum ScalingSeries {
    static let all = [layers, fields, fieldsOfHit, entries, cookies, cassettes, unread]

    private static let repetitions = 500

    /// One layer of a stack, of the five decorators in turn.
    private static let layers = Series(name: "scaling/layers", sizes: [1, 5, 10, 20, 30]) { size in
        let connection = StackRows.stack(size, MemoryConnection())
        let request = try Request.sample()
        return Work(units: repetitions * size) {
            for _ in 0..<repetitions { _ = try await connection.send(request) }
        }
    }

    /// One field of a request through the whole stack.
    private static let fields = Series(name: "scaling/fields, miss", sizes: [10, 50, 100, 200]) {
        try canonical($0, MemoryConnection())
    }

    private static let fieldsOfHit = Series(name: "scaling/fields, hit", sizes: [10, 50, 100, 200]) {
        try canonical($0, MemoryConnection(fields: [.cacheControl: "max-age=86400"]))
    }

    private static func canonical(_ fields: Int, _ memory: MemoryConnection) throws -> Work {
        let connection = try canonicalStack(over: memory, for: Origin("https://api.example.com"))
        let request = try Request.sample("/v1/feed", furtherFields: fields)
        let repetitions = repetitions / 10
        return Work(units: repetitions * fields) {
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
        return Work(units: repetitions) {
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
        return Work(units: repetitions) {
            for request in requests { _ = try await connection.send(request) }
        }
    }

    /// One interaction of a cassette that is opened.
    private static let cassettes = Series(
        name: "scaling/interactions", sizes: [100, 1000, 10_000], furtherSizes: [100_000]
    ) { size in
        let file = try await TemporaryFolder.with { folder in
            try Data(contentsOf: await SampleCassette(count: size, in: folder).file)
        }
        return Work(units: size) {
            try await TemporaryFolder.with { folder in
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
        return Work(units: repetitions) {
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

import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization

/// Measures the costs of response stores, and whether they grow with the number of stored responses.
enum StoreBenchmark {
    static func measure(_ arguments: Arguments) async throws -> [Reading] {
        let names = ["stores/memory", "stores/file", "stores/caching"]
        guard names.contains(where: { arguments.includes($0) }) else { return [] }
        var readings: [Reading] = []
        for count in [1000, 100_000] {
            let memory = MemoryResponseStore(byteLimit: .max, countLimit: .max)
            readings.append(try await measureHits("stores/memory, hit", count, in: memory))
            readings += try await measureCaching("stores/caching in memory, hit", count, in: memory)
        }
        for count in [1000, 100_000] {
            readings += try await TemporaryFolder.with { folder in
                let spawner = TrackingSpawner()
                let store = FileResponseStore(directory: folder, byteLimit: 4 << 30, spawner: spawner)
                try await fill(store, count)
                let keys = try (0..<sampleCount).map(SampleResponse.key)
                let keeping = try await time("stores/file, keep", count, operations: keys.count) {
                    for key in keys { await store.store(SampleResponse.large, for: key) }
                }
                // The sizes of all files are checked after as many were written, and would count as part of the hits.
                try await spawner.finished()
                let hits = try await measureHits("stores/file, hit", count, in: store)
                let opening = try await time("stores/file, open and first hit", count, operations: 1) {
                    let store = FileResponseStore(directory: folder, byteLimit: 4 << 30)
                    try check(await store.responses(for: keys[7]).count == 1)
                }
                let caching = try await measureCaching("stores/caching in files, hit", count, in: store)
                let reading = try await TemporaryFolder.with { try await measureReading(count, in: store, beside: $0) }
                return [keeping, hits, opening] + caching + reading
            }
        }
        return readings
    }

    /// Measures fresh hits through a whole cache, and the answers of the stub inside of it.
    private static func measureCaching(
        _ name: String, _ count: Int, in store: some ResponseStore
    ) async throws -> [Reading] {
        let stub = MemoryConnection()
        let requests = try (0..<sampleCount).map(SampleResponse.request)
        let stubbing = try await time("stores/stub", count, operations: requests.count) {
            for request in requests { _ = try await stub.send(request) }
        }
        let cache = stub.caching(in: store)
        var hits = try await time(name, count, operations: requests.count) {
            for request in requests { try check(await cache.send(request).metadata.source == .cache) }
        }
        hits[.added] = (hits[.time] ?? 0) - (stubbing[.time] ?? 0)
        return [stubbing, hits]
    }

    /// Measures fresh hits whose content is read, and bare reads of files of the same length, in turn.
    private static func measureReading(
        _ count: Int, in store: FileResponseStore, beside folder: URL
    ) async throws -> [Reading] {
        let files = try BareFiles(sampleCount, of: SampleResponse.length, in: folder)
        let requests = try (0..<sampleCount).map(SampleResponse.request)
        let cache = MemoryConnection().caching(in: store)
        let operations: [() async throws -> Void] = [
            { try files.readAll() },
            {
                for request in requests {
                    try check(
                        await cache.send(request).body.data(upTo: 1 << 20).count == SampleResponse.length)
                }
            },
        ]
        let times = try await ProcessUsage.times(operations)
        let bare = reading("stores/bare read", count, operations: requests.count, times[0])
        var read = reading("stores/caching in files, read", count, operations: requests.count, times[1])
        read[.processor] = zip(times[1], times[0]).map { $0 / $1 }.median
        return [bare, read]
    }

    /// The responses that are looked up; the others only fill the store.
    private static let sampleCount = 1000

    private static func check(_ isAsExpected: Bool) throws {
        guard isAsExpected else { throw BenchmarkFailure("A response is not there, or is not a hit.") }
    }

    private static func fill(_ store: some ResponseStore, _ count: Int) async throws {
        for index in 0..<count {
            let response = index < sampleCount ? SampleResponse.large : SampleResponse.small
            await store.store(response, for: try SampleResponse.key(index))
        }
    }

    private static func measureHits(_ name: String, _ count: Int, in store: some ResponseStore) async throws -> Reading
    {
        if try await store.responses(for: SampleResponse.key(0)).isEmpty { try await fill(store, count) }
        let keys = try (0..<sampleCount).map(SampleResponse.key)
        return try await time(name, count, operations: keys.count) {
            for key in keys {
                let response = await store.responses(for: key).first
                try check(await response?.body.data(upTo: 1 << 20).count == SampleResponse.length)
            }
        }
    }

    private static func time(
        _ name: String, _ count: Int, operations: Int, _ operation: @escaping () async throws -> Void
    ) async throws -> Reading {
        let times = try await ProcessUsage.times([operation])
        return reading(name, count, operations: operations, times[0])
    }

    /// The processor time of one operation, from the times of all rounds in nanoseconds.
    private static func reading(_ name: String, _ count: Int, operations: Int, _ times: [Double]) -> Reading {
        let times = times.map { $0 / Double(operations) / 1e3 }
        return Reading("\(name), \(count)", [.time: times.median, .leastTime: times.min()])
    }
}

/// A response like that of an API: a few fields, and 10 kB.
private enum SampleResponse {
    static let length = 10_000
    static let large = response(length)
    static let small = response(1000)

    private static func response(_ length: Int) -> StoredResponse {
        StoredResponse(
            head: HTTPResponse(
                status: .ok,
                headerFields: [
                    .contentType: "application/json", .cacheControl: "max-age=86400", .eTag: "\"33a64df551425fcc\"",
                    .date: HTTPDate(now).description, .lastModified: "Tue, 15 Nov 1994 08:00:00 GMT",
                    .vary: "Accept-Encoding", .server: "origin", .contentLength: String(length),
                ]),
            body: Body(Data(repeating: 0x5A, count: length)),
            request: HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/"),
            date: now)
    }

    private static let now = Date()

    static func key(_ index: Int) throws -> ResponseKey {
        guard let key = ResponseKey(try request(index)) else { throw BenchmarkFailure("A request has no key.") }
        return key
    }

    static func request(_ index: Int) throws -> Request {
        try .get("https://api.example.com/v1/items/\(index)?sort=name")
    }
}

/// Files that are read with nothing but system calls: the least that a hit from a file can cost.
struct BareFiles {
    private let paths: [String]
    private let length: Int

    /// Creates files of random bytes in a folder.
    init(_ count: Int, of length: Int, in folder: URL) throws {
        self.length = length
        paths = (0..<count).map { folder.appending(path: "\($0)").path }
        let content = Data((0..<length).map { _ in UInt8.random(in: .min ... .max) })
        for path in paths { try content.write(to: URL(filePath: path)) }
    }

    /// Reads each file into new memory.
    func readAll() throws {
        for path in paths {
            guard try read(path).count == length else { throw BenchmarkFailure("A file is not there.") }
        }
    }

    @inline(never) private func read(_ path: String) throws -> Data {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw BenchmarkFailure("A file cannot be opened.") }
        defer { close(descriptor) }
        var status = stat()
        // The system fills in the whole structure, which it is given the address of.
        guard unsafe fstat(descriptor, &status) == 0 else { throw BenchmarkFailure("A file has no length.") }
        var content = Data(count: Int(status.st_size))
        let count = unsafe content.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
        return count == content.count ? content : Data()
    }
}

/// The costs of a request through a cache while others are under way: they should not grow with their number.
enum UnderWayRows {
    static func rows() throws -> [Row] {
        let few = "caching/250 under way"
        return try [row(few, 250), row("caching/10,000 under way", 10_000, over: few)]
    }

    private static func row(_ name: String, _ count: Int, over baseline: String? = nil) throws -> Row {
        let others = OthersUnderWay(count)
        let request = try Request.sample()
        return Row(name, over: baseline) { count in
            let connection = try await others.connection()
            for _ in 0..<count { _ = try await connection.send(request).body.data(upTo: 1000) }
        }
    }
}

/// A cache with a number of requests under way, which stay so until the program ends.
private final class OthersUnderWay: Sendable {
    private let count: Int
    private let transport = HoldingConnection()
    private let started = Mutex<(any Connection)?>(nil)

    init(_ count: Int) {
        self.count = count
    }

    /// The cache; the first call starts the requests.
    func connection() async throws -> any Connection {
        if let connection = started.withLock({ $0 }) { return connection }
        let connection = transport.caching(in: MemoryResponseStore())
        for number in 0..<count {
            let request = try Request.sample("https://api.example.com/held/\(number)")
            Task { try await connection.send(request).body.drain(upTo: 1000) }
        }
        while transport.heldCount < count { await Task.yield() }
        started.withLock { $0 = connection }
        return connection
    }
}

/// A transport in memory that answers, except for paths below `/held`: of these, one half gets no head, and the other
/// half a body without an end.
private final class HoldingConnection: Connection {
    private let held = Mutex<[CheckedContinuation<Void, Never>]>([])

    var layers: [Layer] { [Layer(name: "HoldingConnection", role: .transport)] }

    var heldCount: Int { held.withLock { $0.count } }

    @inline(never) func send(_ request: consuming Request) async throws -> Response {
        request.reportSending()
        let path = request.head.path ?? ""
        let isHeld = path.hasPrefix("/held")
        let hasHead = path.utf8.last.map { $0 % 2 == 0 } ?? false
        if isHeld, !hasHead { await hold() }
        // It is stored, and needs validation each time; without a validator that is a new transfer.
        return Response(
            status: .ok, fields: [.contentType: "text/plain", .cacheControl: "max-age=0"], body: body(isHeld: isHeld))
    }

    private func body(isHeld: Bool) -> Body {
        let reader = HoldingReader(connection: self, isHeld: isHeld)
        return Body(length: nil, replay: .once) { _ in reader }
    }

    fileprivate func hold() async {
        await withCheckedContinuation { continuation in held.withLock { $0.append(continuation) } }
    }
}

private struct HoldingReader: BodyReader {
    let connection: HoldingConnection
    let isHeld: Bool
    var chunk: Data? = Data(repeating: 0x78, count: 100)
    var trailers: HTTPFields? { nil }

    mutating func next() async throws -> Data? {
        if chunk == nil, isHeld { await connection.hold() }
        return chunk.take()
    }
}

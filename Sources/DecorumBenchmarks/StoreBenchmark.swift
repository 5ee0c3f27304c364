import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization

/// Measures the costs of response stores, and whether they grow with the number of stored responses.
struct StoreBenchmark {
    private let arguments: Arguments

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    func measure() async throws -> [StoreReading] {
        guard Self.names.contains(where: { arguments.includes($0) }) else { return [] }
        var readings: [StoreReading] = []
        for count in [1000, 100_000] {
            let memory = MemoryResponseStore(byteLimit: .max, countLimit: .max)
            readings.append(try await measureHits("stores/memory, hit", count, in: memory))
            readings += try await measureCaching("stores/caching in memory, hit", count, in: memory)
        }
        for count in [1000, 100_000] {
            let reading = try await SampleCassette.withFolder { folder in
                let spawner = TrackingSpawner()
                let store = FileResponseStore(directory: folder, byteLimit: 4 << 30, spawner: spawner)
                let keeping = try await measureKeeping("stores/file, keep", count, in: store)
                // The sizes of all files are checked after as many were written, and would count as part of the hits.
                try await spawner.finished()
                let hits = try await measureHits("stores/file, hit", count, in: store)
                let opening = try await measureOpening("stores/file, open and first hit", count, of: folder)
                let caching = try await measureCaching("stores/caching in files, hit", count, in: store)
                let reading = try await SampleCassette.withFolder { bare in
                    try await measureReading(count, in: store, beside: bare)
                }
                return [keeping, hits, opening] + caching + reading
            }
            readings += reading
        }
        return readings
    }

    /// Measures fresh hits through a whole cache, and the answers of the stub inside of it.
    private func measureCaching(
        _ name: String, _ count: Int, in store: some ResponseStore
    ) async throws -> [StoreReading] {
        let stub = MemoryConnection()
        let requests = try (0..<Self.sampleCount).map(SampleResponse.request)
        let stubbing = try await time("stores/stub", count, operations: requests.count) {
            for request in requests { _ = try await stub.send(request) }
        }
        let cache = stub.caching(in: store)
        var hits = try await time(name, count, operations: requests.count) {
            for request in requests {
                let response = try await cache.send(request)
                guard response.metadata.source == .cache else { throw BenchmarkFailure("A response is not a hit.") }
            }
        }
        hits.added = hits.median - stubbing.median
        return [stubbing, hits]
    }

    /// Measures fresh hits whose content is read, and bare reads of files of the same length, in turn.
    private func measureReading(
        _ count: Int, in store: FileResponseStore, beside folder: URL
    ) async throws -> [StoreReading] {
        let files = try BareFiles(Self.sampleCount, of: SampleResponse.length, in: folder)
        let requests = try (0..<Self.sampleCount).map(SampleResponse.request)
        let cache = MemoryConnection().caching(in: store)
        var times: [(bare: Double, read: Double)] = []
        for _ in 0...arguments.rounds {
            let start = ProcessUsage.processorTime
            try files.readAll()
            let middle = ProcessUsage.processorTime
            for request in requests {
                guard try await cache.send(request).body.data(upTo: 1 << 20).count == SampleResponse.length else {
                    throw BenchmarkFailure("A response is not there.")
                }
            }
            let end = ProcessUsage.processorTime
            times.append(((middle - start) / Double(requests.count), (end - middle) / Double(requests.count)))
        }
        // The first round fills caches.
        times.removeFirst()
        let bare = StoreReading(name: "stores/bare read", count: count, times: times.map(\.bare))
        var read = StoreReading(name: "stores/caching in files, read", count: count, times: times.map(\.read))
        read.ratio = times.map { $0.read / $0.bare }.median
        return [bare, read]
    }

    private static let names = ["stores/memory", "stores/file", "stores/caching"]
    /// The responses that are looked up; the others only fill the store.
    private static let sampleCount = 1000

    private func measureHits(_ name: String, _ count: Int, in store: some ResponseStore) async throws -> StoreReading {
        if try await store.responses(for: SampleResponse.key(0)).isEmpty {
            for index in 0..<count { await store.store(Self.response(index), for: try SampleResponse.key(index)) }
        }
        let keys = try (0..<Self.sampleCount).map(SampleResponse.key)
        return try await time(name, count, operations: keys.count) {
            for key in keys {
                let response = await store.responses(for: key).first
                guard try await response?.body.data(upTo: 1 << 20).count == SampleResponse.length else {
                    throw BenchmarkFailure("A response is not there.")
                }
            }
        }
    }

    private func measureKeeping(
        _ name: String, _ count: Int, in store: FileResponseStore
    ) async throws -> StoreReading {
        for index in 0..<count { await store.store(Self.response(index), for: try SampleResponse.key(index)) }
        let keys = try (0..<Self.sampleCount).map(SampleResponse.key)
        return try await time(name, count, operations: keys.count) {
            for key in keys { await store.store(SampleResponse.large, for: key) }
        }
    }

    private func measureOpening(_ name: String, _ count: Int, of folder: URL) async throws -> StoreReading {
        let key = try SampleResponse.key(7)
        return try await time(name, count, operations: 1) {
            let store = FileResponseStore(directory: folder, byteLimit: 4 << 30)
            guard await store.responses(for: key).count == 1 else { throw BenchmarkFailure("A response is not there.") }
        }
    }

    private static func response(_ index: Int) -> StoredResponse {
        index < sampleCount ? SampleResponse.large : SampleResponse.small
    }

    /// The processor time of each round, in nanoseconds; the first, which fills caches, is left out.
    private func time(
        _ name: String, _ count: Int, operations: Int, _ operation: () async throws -> Void
    ) async throws -> StoreReading {
        var times: [Double] = []
        for _ in 0...arguments.rounds {
            let start = ProcessUsage.processorTime
            try await operation()
            times.append((ProcessUsage.processorTime - start) / Double(operations))
        }
        return StoreReading(name: name, count: count, times: Array(times.dropFirst()))
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

/// The measurements of one operation on a store.
struct StoreReading: Encodable {
    let name: String
    /// The number of responses in the store.
    let count: Int
    /// The processor time of one operation, in nanoseconds.
    let median: Double
    let minimum: Double
    /// The time beyond that of the stub, in nanoseconds; nil when there is no stub.
    var added: Double?
    /// The median over all rounds of the time as a share of a bare read's in the same round; nil when there is none.
    var ratio: Double?

    init(name: String, count: Int, times: [Double]) {
        self.name = name
        self.count = count
        median = times.median
        minimum = times.min() ?? 0
    }
}

extension StoreReading: Judged {
    var row: String { "\(name), \(count)" }

    func value(of quantity: Target.Quantity) -> Double? {
        switch quantity {
        case .time: median / 1e3
        case .added: added.map { $0 / 1e3 }
        case .processor: ratio
        case .rate, .instructions, .instructionRatio, .futexCalls: nil
        }
    }
}

extension Table {
    init(_ readings: [StoreReading]) {
        header = ["store", "responses", "µs", "µs min", "µs, added", "÷ bare read"]
        rows = readings.map { reading in
            [
                reading.name, String(reading.count), (reading.median / 1e3).text, (reading.minimum / 1e3).text,
                reading.added.map { $0 / 1e3 }.text, reading.ratio.text,
            ]
        }
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
        return Row(name: name, baseline: baseline) { count in
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

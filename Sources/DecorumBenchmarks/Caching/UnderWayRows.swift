import Decorum
import Foundation
import HTTPTypes
import Synchronization

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

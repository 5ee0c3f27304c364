import Decorum
import Foundation
import HTTPTypes

extension TransportCase {
    static let stress: [TransportCase] = [.thousand, .randomCancellation]

    /// Many exchanges at the same time do not mix.
    public static let thousand = TransportCase(
        "a thousand at once", "Of a thousand exchanges at the same time, each gets its own answer."
    ) { subject in
        let bench = try subject.bench()
        bench.origin.route(nil, "/*") { request in .init(fields: ["ETag": request.target], body: request.body) }
        try await withThrowingTaskGroup { group in
            for number in 0..<1000 {
                let request = try bench.request(.post, "/\(number)", body: Body("content \(number)"))
                group.addTask {
                    let response = try await bench.connection.send(request)
                    try requireEqual(response.head.headerFields[.eTag], "/\(number)", "The field of an answer")
                    let text = try await response.body.text(upTo: 100)
                    try requireEqual(text, "content \(number)", "The content of an answer")
                }
            }
            try await group.waitForAll()
        }
        try requireEqual(bench.origin.requests.count, 1000, "The number of requests")
    }

    /// Exchanges of all kinds, half of them cancelled or dropped at random, leave nothing behind and mix nothing up.
    ///
    /// Each byte of each answer that is read is checked. How long it goes on is told to ``check(soaking:_:)``.
    public static let randomCancellation = TransportCase(
        "random cancellation", "Cancelling and dropping at random never hangs, leaks or mixes up exchanges."
    ) { subject in
        let origin = try LoopbackOrigin(keepingBodiesUpTo: 0)
        origin.route(.get, "/large", .generated(count: 300_000))
        origin.route(.get, "/chunked", .generated(count: 100_000, chunked: true))
        origin.route(.post, "/echo") { request in .init(body: BytePattern.bytes(Int(request.bodyLength))) }
        origin.route(.get, "/cut", .script(.head(.ok, ["Content-Length": "9"]), .raw("hal"), .close))
        origin.route(.get, "/reset", .resetting)
        origin.route(.get, "/slow", .init(body: BytePattern.bytes(5)).after(.pause(.milliseconds(3))))

        try await soak(origin, with: subject.make(SystemClock()), for: subject.soak)
        try await withDeadline("Connections of a transport that is gone stay open after random cancellation.") {
            try await origin.waitForOpenConnections(0)
        }
    }

    private static func soak(
        _ origin: LoopbackOrigin, with connection: any Connection, for duration: Duration
    ) async throws {
        let end = ContinuousClock.now + duration
        let generator = SeededGenerator(seed: 7)
        try await withThrowingTaskGroup { group in
            for _ in 0..<32 {
                group.addTask {
                    while ContinuousClock.now < end {
                        try await exchange(with: connection, at: origin.url, by: generator)
                    }
                }
            }
            try await group.waitForAll()
        }
        let response = try await connection.send(.get(origin.url + "/large"))
        try requireEqual(try await response.body.countPattern(), 300_000, "The number of bytes after it all")
    }

    /// One exchange, which may be cancelled after a moment, read in part, or not at all.
    private static func exchange(
        with connection: any Connection, at url: String, by generator: SeededGenerator
    ) async throws {
        let kind = Int(generator.next() % 6)
        let path = ["/large", "/chunked", "/echo", "/cut", "/reset", "/slow"][kind]
        let body = kind == 2 ? Body(BytePattern.bytes(Int(generator.next() % 60_000))) : .empty
        let request = try Request(kind == 2 ? .post : .get, url + path, body: body)
        let readsAll = generator.next() % 3 > 0
        let task = Task {
            let response = try await connection.send(request)
            guard readsAll else { return }
            let count = try await response.body.countOfPattern(orText: kind == 3)
            let expected: Int64? = [300_000, 100_000, body.length, nil, nil, 5][kind]
            try require(expected.map { $0 == count } ?? true, "An answer to \(path) has \(count) bytes.")
        }
        if generator.next() % 2 == 0 {
            try await Task.sleep(for: .microseconds(Int(generator.next() % 3000)))
            task.cancel()
        }
        do {
            try await withDeadline(of: .seconds(15), "An exchange with \(path) hangs.") { try await task.value }
        } catch is TransportError where kind == 3 || kind == 4 {
            return
        } catch is CancellationError {
            return
        }
    }
}

extension Body {
    fileprivate func countOfPattern(orText isText: Bool) async throws -> Int64 {
        isText ? Int64(try await collectAll().data.count) : try await countPattern()
    }
}

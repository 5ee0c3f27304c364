import Decorum
import Foundation
import HTTPTypes

extension TransportCase {
    /// Many exchanges at the same time.
    public static let stress: [TransportCase] = [.thousand, .randomCancellation]

    /// Many exchanges at the same time do not mix.
    public static let thousand = TransportCase(
        "thousand", "Of a thousand exchanges at the same time, each gets its own answer."
    ) { subject in
        let bench = try await subject.bench()
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
    /// Each byte of each answer that is read is checked. The duration is the `soak` of ``check(soaking:_:)``.
    public static let randomCancellation = TransportCase(
        "randomCancellation", "Cancelling and dropping at random never hangs, leaks or mixes up exchanges."
    ) { subject in
        let descriptors = descriptorCount
        // Of its own, so that the transport is let go of.
        let origin = try await soak(subject)
        // Clients close their connections in the background, which takes long on a busy machine.
        try await withDeadline(
            of: .seconds(30), "Connections of a transport that is gone stay open after random cancellation."
        ) {
            try await origin.waitForOpenConnections(0)
        }
        guard let descriptors else { return }
        try await withDeadline("Descriptors stay open after random cancellation, many more than before.") {
            while descriptorCount ?? 0 > descriptors + descriptorsOfOthers {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    /// The descriptors that other tests in the process may open meanwhile, far fewer than there are exchanges in a second.
    private static let descriptorsOfOthers = 100

    /// The number of open descriptors of the process; nil where the system does not tell.
    private static var descriptorCount: Int? {
        try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }

    private static func soak(_ subject: TransportSubject) async throws -> LoopbackOrigin {
        let bench = try await subject.bench(try LoopbackOrigin(keepingBodiesUpTo: 0))
        let origin = bench.origin
        origin.route(.get, "/large", .generated(count: 300_000))
        origin.route(.get, "/chunked", .generated(count: 100_000, chunked: true))
        origin.route(.post, "/echo") { request in
            .init(body: request.isBodyPattern ? BytePattern.bytes(Int(request.bodyLength)) : Data("changed".utf8))
        }
        origin.route(.get, "/cut", .script(.head(.ok, ["Content-Length": "9"]), .raw("hal"), .close))
        origin.route(.get, "/reset", .resetting)
        origin.route(.get, "/slow", .init(body: BytePattern.bytes(5)).after(.pause(.milliseconds(3))))

        let end = ContinuousClock.now + subject.soak
        let generator = SeededGenerator(seed: 7)
        try await withThrowingTaskGroup { group in
            for _ in 0..<32 {
                group.addTask {
                    while ContinuousClock.now < end {
                        try await exchange(with: bench, by: generator)
                        if generator.next() % 100 == 0 { origin.forgetRequests() }
                    }
                }
            }
            try await group.waitForAll()
        }
        let response = try await bench.connection.send(bench.request(.get, "/large"))
        try requireEqual(try await response.body.countPattern(), 300_000, "The number of bytes after it all")
        return origin
    }

    /// One exchange, which may be cancelled after a moment, read in part, or not at all.
    private static func exchange(with bench: TransportBench, by generator: SeededGenerator) async throws {
        let kind = Int(generator.next() % 6)
        let path = ["/large", "/chunked", "/echo", "/cut", "/reset", "/slow"][kind]
        let body = kind == 2 ? Body(BytePattern.bytes(Int(generator.next() % 60_000))) : .empty
        let request = try bench.request(kind == 2 ? .post : .get, path, body: body)
        let readsAll = generator.next() % 3 > 0
        let task = Task {
            let response = try await bench.connection.send(request)
            // A server in between turns a reset into a response.
            guard readsAll, kind != 4 else { return }
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

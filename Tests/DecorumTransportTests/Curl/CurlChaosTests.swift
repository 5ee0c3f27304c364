#if os(Linux)
@testable import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    /// Many concurrent exchanges that are read, paused, dropped, cancelled and broken at random, with every byte checked.
    ///
    /// A body that ends must be whole, in both directions; no byte may come from another exchange; and an exchange that is
    /// not broken must succeed. The test takes seconds, or minutes with `DECORUM_SOAK=1`, for each installed build of
    /// libcurl. A failure names its seed, which another run takes from `DECORUM_SEED`; the system still decides the order of
    /// the tasks.
    @Suite(.timeLimit(.minutes(10))) struct CurlChaosTests {
        private static let isLong = Footprint.isSoak
        private static let duration: Duration = isLong ? .seconds(120) : .seconds(1)
        private static let tasks = 24
        private static let exchanges = 20

        private struct Tally {
            var whole = 0
            var partial = 0
            var wrong: [String] = []

            static func += (lhs: inout Tally, rhs: Tally) {
                lhs.whole += rhs.whole
                lhs.partial += rhs.partial
                lhs.wrong += rhs.wrong
            }
        }

        /// Bytes that identify their exchange: the pattern from the exchange's offset on.
        private static func answer(_ request: ReceivedRequest) -> LoopbackOrigin.Answer {
            let offset = Int64(request.query ?? "") ?? 0
            let count = Int(offset % 150_001)
            let content = BytePattern.bytes(count, at: offset)
            switch request.path {
            case "/chunked": return .chunked(chunks: [content.prefix(count / 2), content.dropFirst(count / 2)])
            case "/cut": return .script(.head(.ok, ["Content-Length": String(count + 1)]), .raw(content), .close)
            case "/reset": return .script(.head(.ok, ["Content-Length": String(count + 1)]), .raw(content), .reset)
            case "/slow":
                return .script(
                    .head(.ok, ["Content-Length": "3"]),
                    .trickle(BytePattern.bytes(3, at: offset), every: .milliseconds(1))
                )
            case "/nothing": return .closing
            case "/trailers": return .chunked(chunks: [content], trailers: ["X-Offset": String(offset)])
            default: return .init(body: content)
            }
        }

        @Test(arguments: CurlBuild.all)
        func `Every body that ends is whole, whatever other exchanges do`(build: CurlBuild) async throws {
            let origin = try LoopbackOrigin(keepingBodiesUpTo: 0)
            try await run(with: build, at: origin, through: nil)
        }

        @Test(
            .enabled(if: SecureServer.missingForHTTP2 == nil, "nginx or openssl is not installed"),
            arguments: CurlBuild.all)
        func `Every HTTP/2 stream that ends is whole, whatever other exchanges do`(build: CurlBuild) async throws {
            let origin = try LoopbackOrigin(keepingBodiesUpTo: 0)
            try await run(with: build, at: origin, through: SecureServer.nginx(before: origin))
        }

        private func run(
            with build: CurlBuild, at origin: LoopbackOrigin, through server: SecureServer?
        ) async throws {
            origin.route(nil, "*") { request in Self.answer(request) }
            let url = server?.url ?? origin.url
            var tls = TLSOptions()
            if let server { tls.roots = .file(server.root) }
            let given = ProcessInfo.processInfo.environment["DECORUM_SEED"].flatMap { UInt64($0) }
            let seed = given ?? UInt64.random(in: 0 ... .max)
            let generator = SeededGenerator(seed: seed)
            let end = ContinuousClock.now.advanced(by: Self.duration)

            var tally = Tally()
            repeat {
                // A new connection each time, so that engines start and end during the test.
                let sendsStreamsOverHTTP2 = server != nil && generator.next() % 2 == 0
                let connection = try CurlConnection(
                    library: build.library(), protocols: sendsStreamsOverHTTP2 ? .http2 : .negotiated,
                    pool: .init(connectionsPerHost: server == nil ? 16 : 2), tls: tls)
                tally += await withTaskGroup(of: Tally.self) { group in
                    for _ in 0..<Self.tasks {
                        group.addTask {
                            var tally = Tally()
                            for _ in 0..<Self.exchanges {
                                tally += await Self.exchange(connection, url, generator)
                            }
                            return tally
                        }
                    }
                    return await group.reduce(into: Tally()) { $0 += $1 }
                }
                tally.wrong += origin.requests.compactMap { Self.flaw(of: $0) }
                origin.forgetRequests()
            } while ContinuousClock.now < end

            #expect(tally.wrong == [], "DECORUM_SEED=\(seed)")
            #expect(tally.whole > 0, "DECORUM_SEED=\(seed)")
            #expect(tally.partial > 0, "DECORUM_SEED=\(seed)")
            try await origin.waitForOpenConnections(0)
        }

        /// The flaw of a request whose content has arrived completely; nil for none.
        private static func flaw(of request: ReceivedRequest) -> String? {
            guard request.method == .post, request.isComplete else { return nil }
            guard request.isBodyPattern else { return "\(request.target): wrong bytes arrived" }
            let expected = (Int64(request.query ?? "") ?? 0) % 500_000
            return request.bodyLength == expected ? nil : "\(request.target): \(request.bodyLength) bytes arrived"
        }

        private static func exchange(
            _ connection: CurlConnection, _ url: String, _ generator: SeededGenerator
        ) async -> Tally {
            let paths = ["/whole", "/whole", "/chunked", "/cut", "/reset", "/slow", "/nothing", "/trailers"]
            let path = paths[Int(generator.next() % UInt64(paths.count))]
            let offset = Int64(generator.next() % 1_000_000_000)
            let manner = generator.next() % 6
            let isCancelled = manner >= 4
            let uploads = generator.next() % 4 == 0
            let task = Task { () -> Tally in
                do {
                    let body =
                        uploads ? Body(replay: .once) { _ in PatternReader(count: offset % 500_000) } : .empty
                    let response = try await connection.send(
                        Request(uploads ? .post : .get, "\(url)\(path)?\(offset)", body: body))
                    // nginx responds itself where the origin sends no response.
                    guard manner != 0, path != "/nothing" else { return Tally(partial: 1) }
                    return try await read(
                        response.body, url, path, offset, pausing: manner == 1 ? generator : nil, isPartial: manner == 2
                    )
                } catch {
                    let maySucceed = ["/whole", "/chunked", "/slow", "/trailers"].contains(path)
                    guard maySucceed, !isCancelled else { return Tally(partial: 1) }
                    return Tally(wrong: ["\(path)?\(offset): \(error)"])
                }
            }
            if isCancelled {
                try? await Task.sleep(for: .microseconds(Int(generator.next() % 4000)))
                task.cancel()
            }
            return await task.value
        }

        private static func read(
            _ body: Body, _ url: String, _ path: String, _ offset: Int64, pausing generator: SeededGenerator?,
            isPartial: Bool
        ) async throws -> Tally {
            var reader = try await body.open()
            var count: Int64 = 0
            while let chunk = try await reader.next() {
                guard BytePattern.matches(chunk, at: offset + count) else {
                    return Tally(wrong: ["\(path)?\(offset): wrong bytes at \(count)"])
                }
                count += Int64(chunk.count)
                if isPartial { return Tally(partial: 1) }
                if let generator { try await Task.sleep(for: .microseconds(Int(generator.next() % 3000))) }
            }
            let expected = path == "/slow" ? 3 : offset % 150_001
            guard count == expected, path != "/cut", path != "/reset" else {
                return Tally(wrong: ["\(path)?\(offset): \(count) bytes"])
            }
            // nginx does not forward trailer fields.
            guard path != "/trailers" || url.hasPrefix("https:") || reader.trailers?.first?.value == String(offset)
            else {
                return Tally(wrong: ["\(path)?\(offset): trailers"])
            }
            return Tally(whole: 1)
        }
    }
}
#endif

#if os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

extension IsolatedTests {
    /// Callers of two users who share the whole stack, and who read, read slowly, drop and cancel at random.
    ///
    /// Each content names its path and its user, so that an answer for another request or user shows. The sanitizers run
    /// this test too. It takes a second, or a minute with `DECORUM_SOAK=1`; a failure names its seed, which another run
    /// takes from `DECORUM_SEED`.
    @Suite(.timeLimit(.minutes(5))) struct CurlStackStormTests {
        private static let isLong = Footprint.isSoak
        private static let duration: Duration = isLong ? .seconds(60) : .seconds(1)
        private static let callers = 48
        private static let requests = 20
        private static let paths = ["/fresh", "/validated", "/moved", "/busy", "/streamed", "/cut"]

        private struct Tally {
            var whole = 0
            var cancelled = 0
            var dropped = 0
            var wrong: [String] = []

            static func += (lhs: inout Tally, rhs: Tally) {
                lhs.whole += rhs.whole
                lhs.cancelled += rhs.cancelled
                lhs.dropped += rhs.dropped
                lhs.wrong += rhs.wrong
            }
        }

        @Test func `Each caller gets the answer to the own request, whatever others cancel and drop`() async throws {
            let given = ProcessInfo.processInfo.environment["DECORUM_SEED"].flatMap { UInt64($0) }
            let seed = given ?? UInt64.random(in: 0 ... .max)
            let generator = SeededGenerator(seed: seed)
            let origin = try LoopbackOrigin(keepingBodiesUpTo: 0)
            Self.route(origin)
            let end = ContinuousClock.now.advanced(by: Self.duration)

            var tally = Tally()
            repeat {
                // A new stack each time, so that stacks start and end during the test.
                let connection = try Self.stack(over: CurlConnection(pool: .init(connectionsPerHost: 8)), for: origin)
                tally += await withTaskGroup(of: Tally.self) { group in
                    for number in 0..<Self.callers {
                        group.addTask {
                            var tally = Tally()
                            for _ in 0..<Self.requests {
                                tally += await Self.call(connection, as: "user\(number % 2)", generator)
                            }
                            return tally
                        }
                    }
                    return await group.reduce(into: Tally()) { $0 += $1 }
                }
                origin.forgetRequests()
            } while ContinuousClock.now < end

            #expect(tally.wrong == [], "DECORUM_SEED=\(seed)")
            #expect(tally.whole > 0 && tally.cancelled > 0 && tally.dropped > 0, "DECORUM_SEED=\(seed)")
            try await origin.waitForOpenConnections(0)
        }

        private static func route(_ origin: LoopbackOrigin) {
            let count = Mutex(0)
            origin.route(nil, "*") { request in
                let user = request.fields["X-User"] ?? ""
                let content = text(of: request.target, for: user)
                switch request.path {
                case "/fresh": return .init(fields: ["Cache-Control": "max-age=60", "Vary": "X-User"], body: content)
                case "/validated":
                    let tag = "\"\(user)\""
                    return request.fields["If-None-Match"] == tag
                        ? .init(.notModified)
                        : .init(fields: ["ETag": tag, "Cache-Control": "no-cache"], body: content)
                case "/moved":
                    return .init(.found, fields: ["Location": "/fresh?\(request.query ?? "")"])
                case "/busy":
                    // Not each second answer, since one call among two would get each failure.
                    let isFailure = count.withLock { count in
                        count += 1
                        return count % 4 == 1
                    }
                    return isFailure ? .init(.internalServerError) : .init(body: content)
                case "/cut":
                    return .script(.head(.ok, ["Content-Length": "\(content.utf8.count + 1)"]), .raw(content), .close)
                default: return .chunked(chunks: [content.prefix(1000), content.dropFirst(1000)].map { Data($0.utf8) })
                }
            }
        }

        /// Content that only one request of one user gets, of a size that needs several reads for some.
        private static func text(of target: String, for user: String) -> String {
            let name = "\(target) \(user) "
            return String(repeating: name, count: 1 + Int(target.utf8.last ?? 0) % 8 * 1000)
        }

        private static func stack(
            over transport: CurlConnection, for origin: LoopbackOrigin
        ) throws -> any Connection {
            var stack = StandardStack(for: origin.url)
            stack.coalescing = CoalescingPolicy()
            stack.pacing = nil
            // A call among many may get each failure; it does not get so many in a row.
            stack.retries = .init(retries: 30, baseDelay: .zero, budget: .unlimited)
            return try stack.composed(over: transport, authentication: .with(.bearer("token")))
        }

        private static func call(
            _ connection: any Connection, as user: String, _ generator: SeededGenerator
        ) async -> Tally {
            let path = paths[Int(generator.next() % UInt64(paths.count))]
            let target = "\(path)?\(generator.next() % 6)"
            let manner = generator.next() % 8
            let turns = generator.next() % 400
            let task = Task {
                var request = try Request.get(target, fields: [#require(HTTPField.Name("X-User")): user])
                request.options.principal = Principal(user)
                let response = try await connection.send(request)
                // The body is dropped.
                guard manner > 1 else { return nil as String? }
                var content = Data()
                for try await chunk in response.body {
                    content += chunk
                    guard manner == 2 else { continue }
                    for _ in 0..<turns { await Task.yield() }
                }
                return String(decoding: content, as: UTF8.self)
            }
            let isCancelled = manner >= 6
            if isCancelled {
                for _ in 0..<turns { await Task.yield() }
                task.cancel()
            }
            return tally(of: await task.result, target, user, isCancelled: isCancelled)
        }

        private static func tally(
            of result: Result<String?, any Error>, _ target: String, _ user: String, isCancelled: Bool
        ) -> Tally {
            // The target of a redirection answers in place of the path that was asked for.
            let sent = target.hasPrefix("/moved") ? "/fresh" + target.dropFirst("/moved".count) : target
            switch result {
            case .success(nil): return Tally(dropped: 1)
            case .success(text(of: sent, for: user)) where !target.hasPrefix("/cut"): return Tally(whole: 1)
            case .success(let content): return Tally(wrong: ["\(target) for \(user): \(content?.prefix(60) ?? "")"])
            case .failure(is CancellationError) where isCancelled: return Tally(cancelled: 1)
            case .failure(let error as TransportError) where target.hasPrefix("/cut") && error.code == .truncated:
                return Tally()
            case .failure(let error): return Tally(wrong: ["\(target) for \(user): \(error)"])
            }
        }
    }
}
#endif

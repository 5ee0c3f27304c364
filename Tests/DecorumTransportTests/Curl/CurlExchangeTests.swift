#if os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

extension IsolatedTests {
    /// The bytes that are sent, the parts of a response that only libcurl reports, and the end of a transport.
    @Suite(.timeLimit(.minutes(3))) struct CurlExchangeTests {
        let connection: CurlConnection
        let origin: LoopbackOrigin

        init() throws {
            connection = try CurlConnection()
            origin = try LoopbackOrigin()
            origin.route(nil, "*", LoopbackOrigin.Answer(body: "ok"))
        }

        private func send(_ request: Request) async throws -> ReceivedRequest {
            let response = try await connection.send(request)
            try await response.body.drain(upTo: 100)
            return try #require(origin.requests.last)
        }

        @Test func `Bytes that are not UTF-8 are sent unchanged`() async throws {
            let name = try #require(HTTPField.Name("X-Bytes"))
            var request = try Request.get(origin.url + "/")
            request.head.headerFields.append(HTTPField(name: name, lenientValue: [0x61, 0xFF, 0x80, 0x62]))
            let received = try await send(request)

            #expect(received.rawHead.range(of: Data("X-Bytes: a".utf8) + [0xFF, 0x80] + Data("b\r\n".utf8)) != nil)
        }

        @Test func `An OPTIONS request can be sent for the whole server`() async throws {
            let authority = "127.0.0.1:\(origin.port)"
            let head = HTTPRequest(method: .options, scheme: "http", authority: authority, path: "*")
            let received = try await send(Request(head: head))

            #expect(received.target == "*")
        }

        private func response(to answer: LoopbackOrigin.Answer) async throws -> Response {
            origin.enqueue(answer)
            return try await connection.send(.get(origin.url + "/"))
        }

        @Test func `Trailer fields remain when the reader is cancelled after the end`() async throws {
            let response = try await response(to: .chunked(chunks: ["a"], trailers: ["ETag": "1"]))
            let gate = Gate()
            let task = Task {
                var reader = try await response.body.open()
                while try await reader.next() != nil {}
                try? await gate.wait()
                let further = try? await reader.next()
                return (further, reader.trailers)
            }
            try await gate.waitForWaiting(1)
            task.cancel()

            let (further, trailers) = try await task.value
            #expect(further == nil)
            #expect(trailers == [.eTag: "1"])
        }

        @Test func `Trailer fields arrive for a request with content too`() async throws {
            origin.enqueue(.chunked(chunks: ["a", "bc"], trailers: ["ETag": "1", "Age": "2"]))
            let response = try await connection.send(.post(origin.url + "/", body: "hello"))
            var reader = try await response.body.open()
            var content = Data()
            while let chunk = try await reader.next() { content += chunk }

            #expect(content == Data("abc".utf8))
            #expect(reader.trailers == [.eTag: "1", .age: "2"])
            #expect(response.body.length == nil)
            try await self.response(to: "beside").body.drain(upTo: 10)
            #expect(origin.connectionCount == 1)
        }

        @Test(
            arguments: [
                ("5\r\nhel", .truncated), ("5\r\nhello\r\n", .truncated), ("zz\r\nhello\r\n", .malformedResponse),
                ("5\r\nhelloX0\r\n\r\n", .malformedResponse), ("5X\r\nhello\r\n0\r\n\r\n", .malformedResponse),
            ] as [(String, TransportError.Code)])
        func `Broken chunks have their code for a request with content too`(
            chunks: String, code: TransportError.Code
        ) async throws {
            let raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
            origin.enqueue(.script(.receiveBody, .raw(raw), .close))
            let response = try await connection.send(.post(origin.url + "/", body: "hello"))
            let error = await #expect(throws: TransportError.self) { try await response.body.data(upTo: 100) }

            #expect(error?.code == code)
            #expect(error?.stage == .body)
        }

        @Test func `A field with an invalid name is ignored`() async throws {
            let response = try await response(
                to:
                    .script(.raw("HTTP/1.1 200 OK\r\nBad Name: a\r\nContent-Length: 5\r\n\r\nhello")))

            #expect(response.head.headerFields == [.contentLength: "5"])
            #expect(try await response.body.text(upTo: 100) == "hello")
        }

        @Test func `The timings contain the parts of an exchange`() async throws {
            let first = try await response(to: "hello")
            #expect(first.metadata.timings?.isConnectionReused == false)
            #expect(try #require(first.metadata.timings?.connect) > .zero)
            #expect(try #require(first.metadata.timings?.firstByte) >= #require(first.metadata.timings?.connect))
            #expect(first.metadata.timings?.handshake == nil)
            #expect(first.metadata.timings?.protocolVersion == "HTTP/1.1")
            #expect(first.metadata.timings?.remoteAddress == "127.0.0.1")
            try await first.body.drain(upTo: 100)
            #expect(try #require(first.metadata.timings?.total) >= #require(first.metadata.timings?.firstByte))

            let gate = Gate()
            let second = try await response(to: .script(.head(.ok, ["Content-Length": "1"]), .wait(gate), .raw("x")))
            #expect(second.metadata.timings?.isConnectionReused == true)
            #expect(second.metadata.timings?.connect == nil)
            #expect(second.metadata.timings?.total == nil)
            gate.open()
            try await second.body.drain(upTo: 100)
            #expect(second.metadata.timings?.total != nil)
        }

        @Test func `Content counts as progress before the turn in which it arrived is over`() async throws {
            let (origin, gate, clock) = (try LoopbackOrigin(), Gate(), TurnClock())
            origin.enqueue(.script(.head(.ok, ["Content-Length": "2"]), .wait(gate), .raw("a"), .wait(gate), .raw("b")))
            let connection = try CurlConnection(idleTimeout: .seconds(10), clock: clock)
            var reader = try await connection.send(.get(origin.url + "/")).body.open()
            try await gate.waitForWaiting(1)
            clock.base.advance(by: .seconds(9))

            clock.holdNextTurn()
            gate.admit()
            try await clock.isHeld.wait()
            #expect(try await reader.next() == Data("a".utf8))
            clock.base.advance(by: .seconds(9))
            // Waits until the timeout has looked at the exchange and sleeps again.
            try await clock.base.waitForSleepers()
            clock.release()

            try await gate.waitForWaiting(1)
            gate.admit()
            #expect(try await reader.next() == Data("b".utf8))
            #expect(try await reader.next() == nil)
        }
    }
}

/// A virtual clock that holds the transport's thread where it asks for the time, which it does at the end of a turn.
private final class TurnClock: DatedClock {
    let base = VirtualClock()
    /// Opens when the thread is held.
    let isHeld = Gate()
    private let holdsTurn = Mutex(false)
    private let turn = DispatchSemaphore(value: 0)

    func holdNextTurn() { holdsTurn.withLock { $0 = true } }
    func release() { turn.signal() }

    var now: ContinuousClock.Instant {
        if Self.isThreadOfTransport, holdsTurn.withLock({ exchange(&$0, with: false) }) {
            isHeld.open()
            turn.wait()
        }
        return base.now
    }

    private static var isThreadOfTransport: Bool {
        (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) == "decorum.curl\n"
    }

    var date: Date { base.date }
    var minimumResolution: Duration { base.minimumResolution }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try await base.sleep(until: deadline, tolerance: tolerance)
    }
}

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

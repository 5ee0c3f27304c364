import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// The events of calls and attempts, and their order.
@Suite(.timeLimit(.minutes(3))) struct CallObserverTests {
    /// Writes down each event as a line, by call.
    final class Diary: CallObserver {
        private let stored = Mutex<[UInt64: [String]]>([:])
        var calls: [UInt64: [String]] { stored.withLock { $0 } }
        /// The lines of the only call.
        var lines: [String] { calls.count == 1 ? calls.values.first ?? [] : ["\(calls.count) calls"] }

        private func add(_ line: String, _ exchange: ObservedExchange) {
            add(line, exchange.scope, exchange.attempt, exchange.callID)
        }

        private func add(_ line: String, _ scope: CallReport.Scope, _ attempt: Int?, _ call: UInt64) {
            let name = attempt.map { "\(scope) \($0)" } ?? "\(scope)"
            stored.withLock { $0[call, default: []].append("\(name) \(line)") }
        }

        func started(_ exchange: ObservedExchange) { add("started", exchange) }
        func decided(_ decision: CallDecision, in call: ObservedExchange) { add("\(decision.kind)", call) }
        func headArrived(_ head: ObservedHead, in exchange: ObservedExchange) {
            add("head \(head.statusCode)", exchange)
        }
        func progressed(_ progress: ExchangeProgress, in exchange: ObservedExchange) {
            add("progress \(progress.bytesSent)/\(progress.bytesReceived)", exchange)
        }
        func ended(_ report: CallReport) {
            add("ended \(report.outcome)", report.scope, report.attempt, report.callID ?? 0)
        }
    }

    let diary = Diary()
    let clock = VirtualClock()

    private func stream(_ chunks: Int) -> Body {
        Body(replay: .once) { _ in Chunks(left: chunks) }
    }

    private struct Chunks: BodyReader {
        var left: Int
        var trailers: HTTPFields? { nil }

        mutating func next() throws -> Data? {
            guard left > 0 else { return nil }
            left -= 1
            return Data("chunk".utf8)
        }
    }

    /// Observes calls and attempts, retries and follows redirections; a layer between tells a wait.
    private func observed(_ base: some Connection) -> some Connection {
        base.observing(diary, as: .attempt, clock: clock)
            .intercepting("waiting") { request, base in
                let request = request
                let response = try await base.send(request)
                guard response.status == .serviceUnavailable else { return response }
                request.options.callContext?.note(
                    CallDecision(.waits, by: "waiting", "2 s: 503 with Retry-After 2", waiting: .seconds(2)))
                return try await base.send(request)
            }
            .followingRedirects(clock: clock)
            .observing(diary, clock: clock)
    }

    @Test func `M77: The events of a call come in the order that the documentation names`() async throws {
        let stub = StubConnection(
            Response(status: .serviceUnavailable),
            Response(status: .found, fields: [.location: "/b"]),
            Response(status: .ok, body: stream(2)))

        let response = try await observed(stub).send(.get("https://a.example/"))
        _ = try await response.body.data(upTo: 100)

        #expect(
            diary.lines == [
                "call started",
                "attempt 1 started", "call sends", "attempt 1 head 503", "attempt 1 ended finished",
                "call waits",
                "attempt 2 started", "call sends", "attempt 2 head 302", "attempt 2 ended finished",
                "call redirects",
                "attempt 3 started", "call sends", "attempt 3 head 200",
                "call head 200",
                "attempt 3 progress 0/5", "call progress 0/5", "attempt 3 progress 0/10", "call progress 0/10",
                "attempt 3 ended finished", "call ended finished",
            ])
    }

    @Test func `A cache's choice comes before the request, and a hit is answered without an attempt`() async throws {
        let stub = StubConnection { _ in Response(status: .ok, fields: [.cacheControl: "max-age=60"], body: "x") }
        let connection = stub.observing(diary, as: .attempt, clock: clock)
            .caching(in: MemoryResponseStore(), clock: clock)
            .observing(diary, clock: clock)
        _ = try await connection.send(.get("https://a.example/"))
        #expect(
            diary.lines == [
                "call started", "call forwards",
                "attempt 1 started", "call sends", "attempt 1 head 200", "attempt 1 ended finished",
                "call head 200", "call ended finished",
            ])

        let second = Diary()
        _ = try await connection.observing(second, clock: clock).send(.get("https://a.example/"))
        #expect(second.lines == ["call started", "call answers", "call head 200", "call ended finished"])
    }

    @Test func `An upload makes progress while it is sent, and counts anew when it is sent again`() async throws {
        let stub = StubConnection { request in
            _ = try await request.body.data(upTo: 100)
            _ = try await request.body.data(upTo: 100)
            return Response(status: .ok)
        }
        let body = Body(replay: .fromStart) { _ in Chunks(left: 2) }
        _ = try await stub.observing(diary, clock: clock).send(.put("https://a.example/", body: body))
        #expect(
            diary.lines == [
                "call started", "call sends", "call progress 5/0", "call progress 10/0", "call progress 5/0",
                "call progress 10/0", "call head 200", "call ended finished",
            ])
    }

    @Test func `A body that is dropped ends its attempt and then its call`() async throws {
        let stub = StubConnection(Response(status: .ok, body: stream(9)), Response(status: .ok, body: stream(9)))
        for try await _ in try await observed(stub).send(.get("https://a.example/")).body { break }
        #expect(
            diary.lines.suffix(4) == [
                "attempt 1 progress 0/5", "call progress 0/5", "attempt 1 ended abandoned", "call ended abandoned",
            ])

        let unread = Diary()
        _ = try await stub.observing(unread, clock: clock).send(.get("https://a.example/"))
        #expect(unread.lines == ["call started", "call sends", "call head 200", "call ended abandoned"])
    }

    @Test func `A call that is cancelled while it waits ends as cancelled, and nothing follows`() async throws {
        let stub = StubConnection { [clock] _ in
            try await clock.sleep(for: .seconds(9))
            return Response(status: .ok)
        }
        let connection = observed(stub)
        let task = Task { try await connection.send(.get("https://a.example/")) }
        try await clock.waitForSleepers()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(
            diary.lines == [
                "call started", "attempt 1 started", "call sends", "attempt 1 ended cancelled", "call ended cancelled",
            ])
    }

    @Test func `A decision that comes after the end of its call is not told`() async throws {
        let kept = Mutex<CallContext?>(nil)
        let stub = StubConnection { request in
            kept.withLock { $0 = request.options.callContext }
            return Response(status: .ok)
        }
        _ = try await stub.observing(diary, clock: clock).send(.get("https://a.example/"))
        kept.withLock { $0 }?.note(CallDecision(.waits, by: "late", "late"))
        #expect(diary.lines.last == "call ended finished")
    }

    @Test func `Twenty-five calls at once, some cancelled and some dropped, keep their events apart`() async throws {
        let gate = Gate()
        let stub = StubConnection { [self] request in
            if request.head.path == "/0" { try await gate.wait() }
            return Response(status: .ok, body: stream(3))
        }
        let connection = observed(stub)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<25 {
                group.addTask {
                    let response = try? await connection.send(.get("https://a.example/\(number % 3)"))
                    if number % 3 == 1 { _ = try? await response?.body.data(upTo: 100) }
                }
            }
            try? await gate.waitForWaiting(9)
            // The others have been sent too.
            for _ in 0..<16 { await group.next() }
            group.cancelAll()
        }
        #expect(diary.calls.count == 25)
        let begin = ["call started", "attempt 1 started", "call sends"]
        let ends = diary.calls.values.map { lines in
            #expect(lines.prefix(3) == begin[...])
            #expect(lines.count { $0.hasPrefix("call ended") } == 1)
            #expect(lines.count { $0.hasPrefix("attempt 1 ended") } == 1)
            return lines.last ?? ""
        }
        #expect(ends.count { $0 == "call ended cancelled" } == 9)
        #expect(ends.allSatisfy { $0.hasPrefix("call ended") })
    }

    @Test func `The contexts of a caller and of two observing layers hear the same decisions`() async throws {
        let call = CallContext()
        let inner = Diary()
        let connection = observed(StubConnection(Response(status: .ok)).observing(inner, clock: clock))
        var request = try Request.get("https://a.example/")
        request.options.callContext = call
        _ = try await connection.send(request)

        #expect(call.history.map(\.kind) == [.sends])
        #expect(diary.lines.contains("call sends") && inner.lines.contains("call sends"))
        #expect(Set(diary.calls.keys) == [call.id] && Set(inner.calls.keys) == [call.id])
        #expect(call.attempts == 1)
    }

    @Test func `An observer of one method compiles, also one that gets the start and the end alone`() async throws {
        final class Starts: CallObserver {
            let getsAllEvents: Bool
            let count = Atomic(0)
            init(getsAllEvents: Bool) { self.getsAllEvents = getsAllEvents }
            func started(_ exchange: ObservedExchange) { count.wrappingAdd(1, ordering: .relaxed) }
        }
        let (starts, few) = (Starts(getsAllEvents: true), Starts(getsAllEvents: false))
        let statistics = ExchangeStatistics()
        _ = try await StubConnection(Response(status: .ok)).observing(starts).observing(few).observing(statistics)
            .send(.get("https://a.example/"))
        #expect(starts.count.load(ordering: .relaxed) == 1 && few.count.load(ordering: .relaxed) == 1)
        #expect(!statistics.getsAllEvents && !ActivityCount().getsAllEvents)
        #expect(statistics.snapshot().rows.map(\.count) == [1])
    }
}

import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// The report of a call at a response, at an error, and at an observer.
@Suite(.timeLimit(.minutes(3))) struct CallReportTests {
    final class Reports: CallObserver {
        private let stored = Mutex<[CallReport]>([])
        let getsAllEvents: Bool
        var all: [CallReport] { stored.withLock { $0 } }

        init(getsAllEvents: Bool = true) {
            self.getsAllEvents = getsAllEvents
        }

        func ended(_ report: CallReport) { stored.withLock { $0.append(report) } }
    }

    let reports = Reports()
    let clock = VirtualClock()
    let policy = RetryPolicy(retries: 2, baseDelay: .seconds(2), certainPart: 1, budget: .unlimited)

    /// Answers with the metadata of a transport, after ten milliseconds.
    private func transport(_ answer: @escaping @Sendable (Request) throws -> Response) -> some Connection {
        ClosureConnection { [clock] request in
            let request = request
            request.reportSending()
            clock.advance(by: .milliseconds(10))
            var response = try answer(request)
            response.metadata = ResponseMetadata(answering: request, from: .network)
            return response
        }
    }

    /// Redirects from `/old`, refuses the first request to any other path with a 503, and answers then.
    private func unsteady() -> some Connection {
        let count = Atomic(0)
        return transport { request in
            if request.head.path?.hasPrefix("/old") == true {
                return Response(status: .found, fields: [.location: "/new?token=s3cret"])
            }
            let isFirst = count.wrappingAdd(1, ordering: .relaxed).newValue == 1
            return isFirst ? Response(status: .serviceUnavailable) : Response(status: .ok, body: "hello")
        }
    }

    private func send(_ url: String, to connection: some Connection) async throws -> Response {
        let request = try Request.get(url)
        let call = Task { try await connection.send(request) }
        while reports.all.isEmpty {
            clock.advance(by: .milliseconds(500))
            await Task.yield()
        }
        return try await call.value
    }

    @Test func `M73, M76, M78: An observer gets the whole story of a call, and the response has the same`() async throws
    {
        let connection = unsteady().retrying(policy, clock: clock).followingRedirects(clock: clock)
            .observing(reports, clock: clock)

        let response = try await send("https://a.example/old?token=s3cret", to: connection)

        let report = try #require(reports.all.first)
        #expect(report.url == "https://a.example/old?token=REDACTED")
        #expect(report.finalURL == "https://a.example/new?token=REDACTED")
        #expect(report.attempts.map(\.reason) == [.first, .redirection, .retry])
        #expect(report.attempts.map(\.outcome) == ["302", "503", "200"])
        #expect(report.attempts.map(\.wait) == [.zero, .zero, .seconds(2)])
        #expect(report.attempts.map { $0.origin?.host } == ["a.example", "a.example", "a.example"])
        #expect(report.attempts[1].start == .milliseconds(10))
        #expect((report.attemptCount, report.retries, report.statusCode) == (3, 1, 200))
        #expect(report.redirections.map(\.statusCode) == [302] && report.bytesReceived == 5)
        #expect(report.decisions.map(\.kind) == [.sends, .redirects, .sends, .waits, .sends])

        let own = response.report
        #expect((own.callID, own.url, own.method, own.source) == (report.callID, report.url, .get, .network))
        #expect(own.attempts.map(\.outcome) == report.attempts.map(\.outcome))
        #expect(own.attempts.dropLast() == report.attempts.dropLast() && own.redirections == report.redirections)
        let bare = response.metadata.report
        #expect(
            bare.decisions == report.decisions && bare.explain().hasPrefix("GET \(report.url ?? "") was answered.\n"))
    }

    @Test func `An attempt lasts until its outcome is known, and a call begins at a date`() async throws {
        let few = Reports(getsAllEvents: false)
        let connection = transport { request in
            guard request.head.path == "/old" else { return Response(status: .ok, body: "hello") }
            return Response(status: .found, fields: [.location: "/new"])
        }
        .followingRedirects(clock: clock).observing(few, clock: clock).observing(reports, clock: clock)
        let date = clock.date
        _ = try await connection.send(.get("https://a.example/old"))

        let report = try #require(reports.all.first)
        #expect(report.attempts.map(\.duration) == [.milliseconds(10), .milliseconds(10)])
        #expect(report.startedAt == date && few.all.map(\.startedAt) == [nil])
        // Nothing resolves this one.
        _ = try await StubConnection(Response(status: .ok)).observing(few).observing(reports).send(.get("feed"))
        for report in reports.all + few.all {
            #expect(try JSONDecoder().decode(CallReport.self, from: JSONEncoder().encode(report)) == report)
        }
        #expect(reports.all.count == 2 && few.all.map(\.origin?.host) == ["a.example", nil])
    }

    @Test func `A response without an observer knows what the metadata knows`() async throws {
        let connection = unsteady().retrying(
            RetryPolicy(retries: 1, baseDelay: .zero, budget: .unlimited), clock: clock)
        let report = try await connection.send(.get("https://a.example/x?token=s3cret")).report
        #expect((report.callID, report.statusCode, report.attemptCount, report.retries) == (nil, 200, 2, 1))
        #expect(report.url == "https://a.example/x?token=REDACTED" && report.origin?.host == "a.example")
        #expect(report.attempts.map(\.outcome) == ["503", "200"])
        #expect(report.attempts.map(\.reason) == [.first, .retry])
    }

    @Test func `An error has a report, which its context completes`() async throws {
        let call = CallContext()
        let connection = transport { _ in throw TransportError(.connectionLost, at: .head) }
            .retrying(RetryPolicy(retries: 2, baseDelay: .zero, budget: .unlimited), clock: clock)
        var request = try Request.get("https://a.example/x")
        request.options.callContext = call
        let error = try await #require(throws: TransportError.self) { try await connection.send(request) }

        let alone = CallReport(of: error)
        #expect(alone.attempts.map(\.outcome) == ["connectionLost", "connectionLost", "connectionLost"])
        #expect((alone.attemptCount, alone.retries, alone.isError) == (3, 2, true))
        let whole = CallReport(of: error, in: call)
        #expect(whole.callID == call.id && whole.decisions == call.history)
        #expect(whole.attempts.map(\.outcome) == alone.attempts.map(\.outcome))
        #expect(whole.attempts.allSatisfy { $0.origin?.host == "a.example" })
        #expect(whole.attemptCount == 3 && CallReport(of: CancellationError()).outcome == .cancelled)
    }

    @Test func `An error alone tells its status, all of its retries, and its redirections`() async throws {
        func report(of connection: some Connection) async throws -> CallReport {
            let request = try Request.get("https://a.example/x?key=s3cret")
            return CallReport(of: try await #require(throws: (any Error).self) { try await connection.send(request) })
        }
        let refused = try await report(of: transport { _ in Response(status: .notFound) }.validatingStatus())
        #expect((refused.statusCode, refused.outcome) == (404, .failed(name: "404")))
        #expect(refused.url == "https://a.example/x?key=REDACTED")

        let failing = transport { _ in throw TransportError(.connectionLost, at: .head) }
        let policy = RetryPolicy(retries: 15, baseDelay: .zero, budget: .unlimited)
        let tried = try await report(of: failing.retrying(policy, clock: clock))
        #expect((tried.attemptCount, tried.retries, tried.attempts.count) == (16, 15, 10))

        let circle = transport { _ in Response(status: .found, fields: [.location: "/x?key=s3cret#x7Rq2L"]) }
        let looped = try await report(of: circle.followingRedirects(clock: clock))
        #expect((looped.method, looped.origin?.host, looped.url) == (.get, "a.example", "https://a.example/x"))
        #expect(looped.redirections.map(\.statusCode) == [302] && looped.finalURL == "https://a.example/x")
    }

    @Test func `M80: An observer of reports alone gets no URL, no decision and no text`() async throws {
        let few = Reports(getsAllEvents: false)
        let stack = transport { request in
            guard request.head.path == "/old" else { throw TransportError(.tls, at: .connecting) }
            return Response(status: .found, fields: [.location: "https://b.example/user/ann"])
        }
        .followingRedirects(clock: clock)
        let connection = stack.observing(few, clock: clock).observing(reports, clock: clock)
        for path in ["old", "new"] { _ = try? await connection.send(.get("https://a.example/\(path)")) }

        #expect(few.all.allSatisfy { $0.url == nil && $0.errorText == nil && $0.decisions.isEmpty })
        #expect(!"\(few.all)".contains("ann") && !"\(few.all)".contains("/new"))
        #expect(few.all.map(\.outcome) == reports.all.map(\.outcome))
        #expect(reports.all.allSatisfy { $0.errorText != nil && !$0.decisions.isEmpty })
        #expect(few.all.map(\.callID) == reports.all.map(\.callID))
    }

    @Test func `An item of the query that the request declares secret is not in its reports`() async throws {
        let answering = transport { _ in Response(status: .notFound) }
        let failing = StubConnection { _ in throw TransportError(.tls, at: .connecting) }
        for base in [answering, answering.validatingStatus(), failing] as [any Connection] {
            let connection = try base.resolving(against: "https://a.example/").observing(reports, clock: clock)
            var request = try Request.get("feed?appid=s3cret")
            request.options.secretQueryItems = ["appid"]
            do {
                let report = try await connection.send(request).report
                #expect(report.url == "https://a.example/feed?appid=REDACTED")
            } catch {
                #expect(CallReport(of: error).url?.contains("s3cret") == false)
            }
        }
        #expect(reports.all.count == 3 && !"\(reports.all)".contains("s3cret"))
    }

    @Test func `M69: Coded and decoded sizes stand side by side`() async throws {
        let text = String(repeating: "the same line\n", count: 100)
        let compressing = StubConnection { request in
            let coded = try await request.body.data(upTo: 10_000)
            return Response(
                status: .ok, fields: [.contentEncoding: "gzip", .contentLength: "\(coded.count)"], body: Body(coded))
        }
        let connection = compressing.decompressing().compressing(clock: clock).observing(reports, clock: clock)
        let response = try await connection.send(.put("https://a.example/", body: Body(text)))
        #expect(try await response.body.text(upTo: 10_000) == text)

        let report = try #require(reports.all.first)
        #expect(report.codings == ["gzip"] && report.bytesReceived == Int64(text.utf8.count))
        #expect(try #require(report.codedLength) < report.bytesReceived)
        #expect(report.explain().contains("(gzip, "))
    }

    @Test func `The log line, the history, the timings and the cache status are those of the report`() async throws {
        let entries = Mutex<[LogEntry]>([])
        let answering = transport { _ in Response(status: .ok, fields: [.cacheControl: "no-store"], body: "x") }
        let measuring = ClosureConnection { request in
            var response = try await answering.send(request)
            response.metadata.timings = TransferTimings(total: .milliseconds(10))
            return response
        }
        let connection = measuring.caching(in: MemoryResponseStore(), clock: clock)
            .logging(to: .structured { entry in entries.withLock { $0.append(entry) } }, clock: clock)
        var request = try Request.get("https://a.example/")
        let call = CallContext()
        request.options.callContext = call
        let response = try await connection.send(request)

        let entry = try #require(entries.withLock { $0.first })
        #expect(entry.text == entry.report.description && entry.text.contains("not stored"))
        let report = response.report
        #expect(report.decisions == call.history && !call.history.isEmpty)
        #expect(report.timings == response.metadata.timings && entry.report.timings == report.timings)
        let status = try #require(response.metadata.cacheStatus)
        #expect((report.cache?.name, report.cache?.isHit, report.cache?.isStored) == (status.cache, false, false))
        #expect(report.cache?.forwardReason == status.forwardReason?.description)
        #expect(report.cache?.detail == status.detail)
        #expect(entry.report.cache == report.cache)
        #expect(report.cache?.forwardReason == "uri-miss" && report.explainCaching().contains("RFC 9111"))
    }

    @Test func `M83, M84: A report is made for a test, written as JSON with durations in seconds, and read back`()
        throws
    {
        var report = CallReport(
            callID: .max, method: .put, routeName: "items", statusCode: 200, outcome: .failed(name: "tls"),
            duration: .nanoseconds(1_234_567_891))
        report.origin = try Origin("https://a.example:8443")
        report.source = .revalidated
        report.timings = TransferTimings(total: .milliseconds(31.5))
        report.timings?.firstByte = .milliseconds(20)
        report.cache = .init("Decorum")
        report.cache?.timeToLive = .seconds(-3)
        report.layers = [.init("retrying", own: .zero, total: .seconds(1), sends: 2)]
        report.network = NetworkState(kind: .wifi)
        report.decisions = [CallDecision(.waits, by: "retrying", "retry", waiting: .seconds(2), after: "503")]
        report.attempts = [.init(.first, outcome: "503"), .init(.retry, after: .seconds(2))]
        report.redirections = [.init(301, from: "https://a.example/", to: "https://a.example/b")]

        let coded = try JSONEncoder().encode(report)

        #expect(try JSONDecoder().decode(CallReport.self, from: coded) == report)
        let text = String(decoding: coded, as: UTF8.self)
        #expect(text.contains(#""duration":1.234567891"#) && text.contains(#""method":"PUT""#))
        #expect(text.contains(#""total":0.0315"#) && text.contains(#""reason":"retry""#))
    }

    @Test func `M34: Ten thousand calls at once lose no report, and an activity count ends at zero`() async throws {
        let activity = ActivityCount()
        let connection = StubConnection { _ in
            await Task.yield()
            return Response(status: .ok)
        }
        .observing(activity).observing(reports)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<10_000 {
                group.addTask { _ = try? await connection.send(.get("https://a.example/\(number)")) }
            }
        }
        #expect(Set(reports.all.map(\.url)).count == 10_000 && reports.all.count == 10_000)
        #expect(Set(reports.all.map(\.callID)).count == 10_000)
        #expect(activity.running == 0)
    }

    @Test func `An activity count tells each change until the body has ended`() async throws {
        let activity = ActivityCount()
        var changes = activity.changes().makeAsyncIterator()
        #expect(await changes.next() == 0)
        let body = Body(chunks: AsyncThrowingStream { $0.finish() })
        let response = try await StubConnection(Response(status: .ok, body: body)).observing(activity)
            .send(.get("https://a.example/"))
        #expect(await changes.next() == 1 && activity.running == 1)
        _ = try await response.body.data(upTo: 10)
        #expect(await changes.next() == 0 && activity.running == 0)
    }
}

#if Metrics
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Metrics
import MetricsTestKit
import Synchronization
import Testing

@testable import DecorumTelemetry

@Suite(.timeLimit(.minutes(3))) struct CallMetricsTests {
    let clock = VirtualClock()
    private let factory = TestMetrics()

    private func metrics(limit: Int = 100, absent: String? = "") -> CallMetrics {
        CallMetrics(factory: factory, limit: limit, absent: absent)
    }

    private func measured(_ base: some Connection) -> some Connection {
        let metrics = metrics()
        return base.observing(metrics, as: .attempt, clock: clock).retrying(clock: ImpatientClock())
            .observing(metrics, clock: clock)
    }

    private func request(_ path: String = "/items/17?token=s3cret", route: String? = "/items/{id}") throws -> Request {
        var request = try Request.get("https://api.example.com" + path)
        request.options.routeName = route
        return request
    }

    /// The values of a metric by its attributes, of which those of the request are left out.
    private func values(_ metric: String) -> [String: [Double]] {
        let common: Set = ["http.request.method", "server.address", "server.port", "url.template"]
        func key(_ dimensions: [(String, String)]) -> String {
            dimensions.filter { !common.contains($0.0) && !$0.1.isEmpty }.map { "\($0.0)=\($0.1)" }
                .joined(separator: " ")
        }
        var values: [String: [Double]] = [:]
        for timer in factory.timers(label: metric) {
            values[key(timer.dimensions)] = timer.values.map { Double($0) / 1e9 }
        }
        for recorder in factory.recorders(label: metric) { values[key(recorder.dimensions)] = recorder.values }
        for counter in factory.counters(label: metric) {
            values[key(counter.dimensions)] = [Double(counter.totalValue)]
        }
        for meter in factory.meters(label: metric) { values[key(meter.dimensions)] = meter.values }
        return values
    }

    @Test func `A success is measured by route and origin, and by no URL`() async throws {
        let stub = StubConnection { [clock] _ in
            clock.advance(by: .milliseconds(40))
            return Response(status: .ok, body: "hello")
        }
        var request = try request()
        request.head.method = .post
        request.body = "abc"
        _ = try await measured(stub).send(request)

        let base = [
            ("http.request.method", "POST"), ("server.address", "api.example.com"), ("server.port", "443"),
            ("url.template", "/items/{id}"),
        ]
        let outcome = [
            ("error.type", ""), ("http.response.status_code", "200"), ("network.protocol.version", ""),
        ]
        let attempt = try factory.expectTimer("http.client.request.duration", base + outcome)
        #expect(attempt.values == [40_000_000] && attempt.displayUnit == .seconds)
        #expect(try factory.expectRecorder("http.client.request.body.size", base + outcome).values == [3])
        #expect(try factory.expectRecorder("http.client.response.body.size", base + outcome).values == [5])
        let call = try factory.expectTimer("decorum.client.call.duration", base + outcome.dropLast())
        #expect(call.values == [40_000_000])
        #expect(try factory.expectMeter("http.client.active_requests", Array(base.dropLast())).values == [1, 0])
        #expect(try factory.expectMeter("decorum.client.active_calls").values == [1, 0])
        #expect(factory.counters.isEmpty && factory.timers.count == 2 && factory.recorders.count == 2)
    }

    @Test func `A retry is two attempts and one call, and one that is refused is counted`() async throws {
        let unavailable = Response(status: .serviceUnavailable)
        let stub = StubConnection(unavailable, Response(status: .ok), unavailable)
        _ = try await measured(stub).send(request())
        #expect(
            values("http.client.request.duration") == [
                "error.type=503 http.response.status_code=503": [0], "http.response.status_code=200": [0],
            ])
        #expect(values("decorum.client.call.duration") == ["http.response.status_code=200": [0]])
        #expect(values("decorum.client.retries") == ["": [1]])
        #expect(values("http.client.active_requests") == ["": [1, 0, 1, 0]])
        #expect(values("decorum.client.refused_retries").isEmpty)

        var request = try request()
        request.head.method = .post
        factory.reset()
        _ = try await measured(stub).send(request)
        #expect(values("decorum.client.refused_retries") == ["": [1]] && values("decorum.client.retries").isEmpty)
    }

    @Test func `A call that is refused before anything was sent is counted by its error`() async throws {
        let connection = try StubConnection().restrictingHosts(to: HostPolicy.httpsOnly.allowing("b.example"))
            .observing(metrics(), clock: clock)
        let error = await #expect(throws: HostPolicyError.self) { try await connection.send(request()) }
        let name = try #require(error).shortDescription
        #expect(values("decorum.client.refusals") == ["error.type=\(name)": [1]])
        #expect(values("decorum.client.call.duration") == ["error.type=\(name)": [0]])
    }

    @Test func `A failure, a cancellation and a dropped body end what they began`() async throws {
        let lost = TransportError(.connectionLost, at: .head)
        @Sendable func body(failure: (any Error)? = nil) -> Body {
            Body(
                chunks: AsyncThrowingStream { continuation in
                    continuation.yield(Data("ab".utf8))
                    continuation.finish(throwing: failure)
                })
        }
        let stub = StubConnection(answers: [
            { _ in throw lost }, { _ in throw CancellationError() },
            { _ in Response(status: .ok, body: body()) },
            { _ in Response(status: .ok, body: body(failure: lost)) },
        ])
        let connection = stub.observing(metrics(), as: .attempt, clock: clock)
        await #expect(throws: TransportError.self) { try await connection.send(request()) }
        await #expect(throws: CancellationError.self) { try await connection.send(request()) }
        for try await _ in try await connection.send(request()).body { break }
        _ = try? await connection.send(request()).body.data(upTo: 10)
        #expect(
            values("http.client.request.duration") == [
                "error.type=connectionLost": [0], "error.type=cancelled": [0], "http.response.status_code=200": [0],
                "error.type=connectionLost http.response.status_code=200": [0],
            ])
        #expect(values("http.client.response.body.size").values.flatMap(\.self) == [2, 2])
        #expect(values("http.client.request.body.size").values.flatMap(\.self) == [])
        #expect(values("http.client.active_requests")[""]?.last == 0)
        #expect(values("decorum.client.refusals").isEmpty)
    }

    @Test func `Hits, misses and validations of a cache are counted by their reason`() async throws {
        let stub = StubConnection(
            Response(status: .ok, fields: [.cacheControl: "max-age=60", .eTag: "\"1\""], body: "a"),
            Response(status: .notModified, fields: [.cacheControl: "max-age=60", .eTag: "\"1\""]))
        let metrics = metrics()
        let connection = stub.observing(metrics, as: .attempt, clock: clock)
            .caching(in: MemoryResponseStore(), clock: clock).observing(metrics, clock: clock)
        _ = try await connection.send(request())
        _ = try await connection.send(request())
        clock.advance(by: .seconds(90))
        _ = try await connection.send(request())
        #expect(
            values("decorum.client.cache.requests") == [
                "decorum.cache.result=uri-miss": [1], "decorum.cache.result=hit": [1],
                "decorum.cache.result=stale": [1],
            ])
        #expect(
            values("http.client.request.duration").mapValues(\.count) == [
                "http.response.status_code=200": 1, "http.response.status_code=304": 1,
            ])
        #expect(values("decorum.client.call.duration") == ["http.response.status_code=200": [0, 0, 0]])
    }

    @Test func `A call that shares a request is counted`() async throws {
        let gate = Gate()
        let stub = StubConnection { _ in
            try await gate.wait()
            return Response(status: .ok, body: "a")
        }
        let metrics = metrics()
        let connection = stub.observing(metrics, as: .attempt, clock: clock).coalescing(clock: clock)
            .observing(metrics, clock: clock)
        let callers = await Callers.start(2) { _ in try await connection.send(request()) }
        gate.open()
        for caller in callers { _ = try await caller.value }
        #expect(values("decorum.client.coalesced_calls") == ["": [1]])
        var joined = CallReport(.call, method: .get, outcome: .failed(name: "connectionLost"))
        (joined.isCoalesced, joined.attemptCount) = (true, 0)
        metrics.ended(joined)
        #expect(values("decorum.client.refusals").isEmpty)
        #expect(values("http.client.request.duration") == ["http.response.status_code=200": [0]])
    }

    @Test func `Waits are measured by their reason, and what the app can read by its name`() async throws {
        let metrics = CallMetrics(
            factory: factory,
            gauges: ["http.client.open_connections": { 3 }, "decorum.client.queue.length": { nil }])
        var report = CallReport(.call, callID: 1, method: .get, statusCode: 200)
        report.pacingWait = .seconds(2)
        report.timings = TransferTimings()
        report.timings?.queued = .milliseconds(800)
        metrics.ended(report)
        metrics.ended(CallReport(.attempt, callID: 1, method: .get, statusCode: 200, duration: .seconds(Int64.max)))
        #expect(
            values("decorum.client.wait") == ["decorum.wait.reason=pacing": [2], "decorum.wait.reason=pool": [0.8]])
        #expect(try factory.expectMeter("http.client.open_connections").values == [3, 3])
        #expect(try factory.expectMeter("decorum.client.queue.length").values == [])
        #expect(factory.timers(label: "http.client.request.duration").first?.values == [Int64.max])
    }

    @Test func `A request whose origin comes to be known only at its end counts down what it counted up`() async throws
    {
        let connection = try StubConnection(Response(status: .ok)).resolving(against: "https://a.example/")
            .observing(metrics(), as: .attempt, clock: clock)
        _ = try await connection.send(.get("feed"))
        let meters = factory.meters(label: "http.client.active_requests")
        #expect(meters.map(\.values) == [[1, 0]])
        #expect(
            factory.timers.first?.dimensions.contains { $0 == ("server.address", "a.example") } == true)
    }

    @Test func `The number of series is bounded, and what is beyond the limit is one`() throws {
        let metrics = metrics(limit: 5)
        func end(_ method: String, _ status: Int, _ origin: Int, _ route: Int, _ error: Int) throws {
            var report = CallReport(
                .attempt, callID: 1, method: .init(method), routeName: "/\(route)", statusCode: status,
                outcome: .failed(name: "E\(error)"), duration: .zero)
            report.origin = try Origin("https://h\(origin).example")
            metrics.ended(report)
        }
        for number in 0..<900 { try end("GET", 100 + number, number / 25 % 5, number % 5, number / 5 % 5) }
        #expect(factory.timers.count <= 110 && factory.timers.map(\.values.count).reduce(0, +) == 900)
        for number in 0..<50 { try end("M\(number)", 200, number + 5, number + 5, number + 5) }
        let rest = try #require(factory.timers.first { $0.values.count == 50 })
        #expect(
            Dictionary(uniqueKeysWithValues: rest.dimensions) == [
                "error.type": "_OTHER", "http.request.method": "_OTHER", "http.response.status_code": "",
                "network.protocol.version": "", "server.address": "_OTHER", "server.port": "",
                "url.template": "_OTHER",
            ])
    }

    @Test(arguments: [("", [7]), (nil, [2, 4])] as [(String?, Set<Int>)])
    func `All series of a metric have the same attributes, or those with a value`(absent: String?, counts: Set<Int>) {
        let reports = [
            CallReport(.attempt, callID: 1, method: .get, statusCode: 200, duration: .zero),
            CallReport(.attempt, callID: 2, outcome: .failed(name: "timedOut"), duration: .zero),
            CallReport(.attempt, callID: 3, method: .put, routeName: "a", statusCode: 500, duration: .zero),
        ]
        for report in reports { metrics(absent: absent).ended(report) }
        #expect(factory.timers.count == 3 && Set(factory.timers.map(\.dimensions.count)) == counts)
        #expect(absent != nil || factory.timers.allSatisfy { $0.dimensions.allSatisfy { !$0.1.isEmpty } })
    }

    @Test func `Names, units, attributes and buckets are those of the convention`() throws {
        let table = try ConventionTable.read()
        #expect(HTTPRequest.Method.known.union(["_OTHER"]) == Set(table.methods))
        let own = ClientMetric.allCases.filter { $0.rawValue.hasPrefix("http.") }
        #expect(own.count == 4)
        func attributes(of metric: ClientMetric) -> Set<String> {
            Set(MetricSeries(metric).dimensions(absent: "").map(\.0))
        }
        for metric in own {
            let row = try #require(table.metrics.first { $0.name == metric.rawValue })
            #expect(CallMetrics.units[row.name] == row.unit)
            let attributes = attributes(of: metric)
            #expect(attributes.isSubset(of: row.attributes.map(\.name)))
            let required = row.attributes.filter { $0.level == "required" }.map(\.name)
            #expect(attributes.isSuperset(of: required))
            guard let buckets = row.buckets else { continue }
            #expect(CallMetrics.durationBuckets.map { $0 / .seconds(1) } == buckets)
        }
        let connections = try #require(table.metrics.first { $0.name == "http.client.open_connections" })
        #expect(CallMetrics.units[connections.name] == connections.unit)
        let known = Set((table.metrics.flatMap(\.attributes) + table.span.attributes).map(\.name))
        for metric in ClientMetric.allCases {
            #expect(attributes(of: metric).subtracting(known).allSatisfy { $0.hasPrefix("decorum.") })
        }
    }
}
#endif

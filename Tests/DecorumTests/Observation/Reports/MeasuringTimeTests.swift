import Decorum
import DecorumTesting
import HTTPTypes
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct MeasuringTimeTests {
    let clock = VirtualClock()

    private func slow(_ name: String, _ time: Duration, _ base: some Connection) -> some Connection {
        base.intercepting(name) { [clock] request, base in
            clock.advance(by: time)
            let response = try await base.send(request)
            clock.advance(by: time)
            return response
        }
    }

    private var transport: some Connection {
        StubConnection { [clock] _ in
            clock.advance(by: .milliseconds(100))
            return Response(status: .ok)
        }
    }

    @Test func `Each layer has its own time, and the layers stay as they are`() async throws {
        let plain = slow("outer", .milliseconds(7), slow("inner", .milliseconds(20), transport))
        let inner = slow("inner", .milliseconds(20), transport.measuringTime(clock: clock)).measuringTime(clock: clock)
        let connection = slow("outer", .milliseconds(7), inner).measuringTime(clock: clock)

        let layers = try await connection.send(.get("https://a.example/")).report.layers

        #expect(layers.map(\.name) == ["outer", "inner", "StubConnection"])
        #expect(layers.map(\.own) == [.milliseconds(14), .milliseconds(40), .milliseconds(100)])
        #expect(layers.map(\.total) == [.milliseconds(154), .milliseconds(140), .milliseconds(100)])
        #expect(layers.map(\.sends) == [1, 1, 1])
        #expect("\(connection.layers)" == "\(plain.layers)")
    }

    @Test func `Retries add up, also of a call that fails`() async throws {
        let call = CallContext()
        let failing = StubConnection { [clock] _ in
            clock.advance(by: .milliseconds(5))
            throw TransportError(.connectionRefused, at: .connecting)
        }
        let connection = failing.measuringTime(clock: clock)
            .retrying(RetryPolicy(retries: 2, baseDelay: .zero, budget: .unlimited), clock: clock)
            .measuringTime(clock: clock)
        var request = try Request.get("https://a.example/")
        request.options.callContext = call
        let error = try await #require(throws: TransportError.self) { try await connection.send(request) }
        let layers = CallReport(of: error, in: call).layers
        #expect(layers.map(\.sends) == [1, 3])
        #expect(layers.map(\.total) == [.milliseconds(15), .milliseconds(15)])
    }

    @Test func `A standard stack measures each of its layers if it is asked to`() async throws {
        var stack = StandardStack(for: "https://a.example/")
        (stack.callLog, stack.wireLog) = (.line, .line)
        let logged = Mutex<[CallReport]>([])
        let log = LogSink.structured { entry in logged.withLock { $0.append(entry.report) } }
        let plain = try stack.composed(over: transport, log: log, clock: clock)
        stack.measuresLayers = true
        let measuring = try stack.composed(over: transport, log: log, clock: clock)
        #expect("\(plain)" == "\(measuring)")

        #expect(try await plain.send(.get("x")).report.layers.isEmpty)
        let layers = try await measuring.send(.get("y")).report.layers
        #expect(layers.map(\.name) == measuring.layers.map(\.name))
        #expect(layers.last?.own == .milliseconds(100))
        let reports = logged.withLock { $0 }
        #expect(reports.map(\.scope) == [.attempt, .call, .attempt, .call])
        #expect(reports.map(\.attempt) == [1, nil, 1, nil])
        #expect(reports.map(\.layers.isEmpty) == [true, true, true, false])
    }
}

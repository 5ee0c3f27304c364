import Decorum
import DecorumTesting
import HTTPTypes
import Testing

// The listings of the documentation for modules on the main actor, compiled in such a module.

enum Screen: RequestOptionKey {
    static let defaultValue: String? = nil
}

nonisolated extension RequestOptions {
    var screen: String? {
        get { self[Screen.self] }
        set { self[Screen.self] = newValue }
    }
}

final class NetworkActivity {
    private(set) var reports: [CallReport] = []
    private(set) var entries: [String] = []
    let connection: any Connection
    private let reportStream: AsyncStream<CallReport>
    private let entryStream: AsyncStream<String>

    init(observing transport: some Connection) {
        let (reportStream, reports) = AsyncStream.makeStream(
            of: CallReport.self, bufferingPolicy: .bufferingNewest(100))
        let (entryStream, entries) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(100))
        self.reportStream = reportStream
        self.entryStream = entryStream
        connection = transport.observing { report in reports.yield(report) }
            .logging(to: LogSink { entry in entries.yield(entry) })
    }

    func watchReports() async {
        for await report in reportStream { reports = reports.suffix(99) + [report] }
    }

    func watchEntries() async {
        for await entry in entryStream { entries = entries.suffix(99) + [entry] }
    }
}

struct ScreenReadingConnection<Base: Connection>: ComposedConnection {
    let base: Base

    func send(_ request: consuming Request) async throws -> Response {
        request.head.headerFields[.referer] = request.options[Screen.self]
        request.options.screen = nil
        return try await base.send(request)
    }
}

struct MainActorListings {
    @Test func aLayerReadsAndSetsAnOptionOfTheApp() async throws {
        var request = try Request.get("https://api.example.com/feed")
        request.options[Screen.self] = "home"

        let stub = StubConnection(Response(status: .ok))
        _ = try await ScreenReadingConnection(base: stub).send(request)
        #expect(stub.requests[0].head.headerFields[.referer] == "home")
        #expect(stub.requests[0].options.screen == nil)
    }

    @Test(.timeLimit(.minutes(3))) func eventsReachTheMainActorInOrder() async throws {
        let transport = StubConnection { _ in
            MainActor.assertIsolated()
            return Response(status: .ok)
        }
        let activity = NetworkActivity(observing: transport)
        for number in 1...3 {
            _ = try await activity.connection.send(.get("https://a\(number).example/")).body.data(upTo: 1)
        }
        let watching = [Task { await activity.watchReports() }, Task { await activity.watchEntries() }]
        while activity.reports.count < 3 || activity.entries.count < 3 {
            try Task.checkCancellation()
            await Task.yield()
        }
        for task in watching { task.cancel() }

        #expect(activity.reports.map { $0.origin?.host } == ["a1.example", "a2.example", "a3.example"])
        #expect(activity.entries.allSatisfy { $0.contains(".example/ 200") })
    }

    @Test func aSnapshotIsReadWhereItIsShown() async throws {
        let transport = StubConnection(Response(status: .ok))
        let statistics = ExchangeStatistics()
        let connection = transport.observing(statistics)
        let table = "\(statistics.snapshot())"

        _ = try await connection.send(.get("https://a.example/"))
        #expect(table != "\(statistics.snapshot())")
    }
}

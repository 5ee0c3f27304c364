import Decorum
import DecorumTesting
import Foundation

private func extendingARedaction(transport: some Connection) {
    var redaction = Redaction.standard
    redaction.queryItems.insert("invitation")
    redaction.jsonPaths.insert("user.email")
    let connection = transport.logging(to: .standardError, redacting: redaction)

    _ = connection
}

private func logging(transport: some Connection) {
    let connection = transport.logging(to: .standardError)
    // GET https://api.example.com/feed?token=REDACTED 200 in 48.1 ms, 5120 bytes in 53.0 ms, from network

    _ = connection
}

private struct Logger: Sendable {
    func info(_ entry: String) {}
}

private func aSink(logger: Logger) {
    let sink = LogSink { entry in logger.info(entry) }

    _ = sink
}

private func observing(transport: some Connection) {
    let statistics = ExchangeStatistics()
    let connection = transport.observing(statistics, as: .attempt)
        .followingRedirects()
        .observing(statistics)

    _ = connection
}

private func countingStatistics(transport: some Connection, request: Request) async throws {
    let statistics = ExchangeStatistics()
    let connection = transport.observing(statistics)
    _ = try await connection.send(request)
    print(statistics.snapshot())
}

private struct Analytics: Sendable {
    func count(_ name: String?, isError: Bool) {}
}

private func observingWithAClosure(transport: some Connection, analytics: Analytics) {
    let connection = transport.observing { event in
        analytics.count(event.routeName, isError: event.isError)
    }

    _ = connection
}

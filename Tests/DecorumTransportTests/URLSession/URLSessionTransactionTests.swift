import DecorumTesting
import Foundation
import Testing

@testable import Decorum

/// What URLSession on Apple's systems tells at the end of a task, as times since its start.
@Suite struct URLSessionTransactionTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    private static func transaction(_ change: (inout URLSessionTransaction) -> Void = { _ in }) -> URLSessionTransaction
    {
        func date(_ seconds: Double) -> Date { start.addingTimeInterval(seconds) }
        var transaction = URLSessionTransaction()
        transaction.fetchStart = start
        (transaction.lookupStart, transaction.lookupEnd) = (date(0.25), date(0.5))
        (transaction.connectStart, transaction.connectEnd) = (date(0.5), date(1))
        (transaction.handshakeStart, transaction.handshakeEnd) = (date(0.75), date(1))
        transaction.requestStart = date(1.25)
        (transaction.responseStart, transaction.responseEnd) = (date(2), date(3))
        (transaction.protocolName, transaction.remoteAddress) = ("h2", "192.0.2.1")
        change(&transaction)
        return transaction
    }

    @Test func `M79: Each part is counted from the start of the fetch`() throws {
        let network = NetworkState(kind: .cellular, isExpensive: true, isConstrained: true)
        let timings = try #require(Self.transaction { $0.network = network }.timings)
        #expect(timings.queued == .milliseconds(250) && timings.nameLookup == .milliseconds(500))
        #expect(timings.connect == .milliseconds(750) && timings.handshake == .seconds(1))
        #expect(timings.firstByte == .seconds(2) && timings.total == .seconds(3))
        #expect(timings.isConnectionReused == false && timings.protocolVersion == "HTTP/2")
        #expect(timings.remoteAddress == "192.0.2.1" && timings.network == network)
        let json = try JSONEncoder().encode(timings)
        #expect(try JSONDecoder().decode(TransferTimings.self, from: json) == timings)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(TransferTimings.self, from: Data(#"{"total":1e300}"#.utf8))
        }
    }

    @Test func `M79: A used connection has a wait, and neither lookup, connection nor handshake`() throws {
        let timings = try #require(Self.transaction { $0.isReused = true }.timings)
        #expect(timings.queued == .milliseconds(1250) && timings.isConnectionReused == true)
        #expect(timings.nameLookup == nil && timings.connect == nil && timings.handshake == nil)
    }

    @Test func `M79: What did not happen is nil, and a clock that is set back gives zero`() throws {
        let plain = Self.transaction { ($0.handshakeStart, $0.handshakeEnd, $0.lookupStart) = (nil, nil, nil) }.timings
        #expect(plain?.connect == .seconds(1) && plain?.handshake == nil && plain?.queued == .milliseconds(500))
        // QUIC makes the connection and the handshake at once.
        #expect(Self.transaction { $0.handshakeStart = $0.connectStart }.timings?.connect == .seconds(1))
        let cut = Self.transaction { ($0.responseStart, $0.responseEnd) = (nil, nil) }.timings
        #expect(cut?.firstByte == nil && cut?.total == nil)
        #expect(Self.transaction { $0.lookupStart = .distantPast }.timings?.queued == .zero)
        #expect(Self.transaction { $0.fetchStart = nil }.timings == nil)
    }

    @Test(
        arguments: [
            ("http/1.0", "HTTP/1.0"), ("http/1.1", "HTTP/1.1"), ("h2", "HTTP/2"), ("h2c", "HTTP/2"), ("h3", "HTTP/3"),
            ("spdy/3", nil), (nil, nil),
        ] as [(String?, String?)])
    func `M79: The protocol has the name of its version`(name: String?, version: String?) {
        #expect(Self.transaction { $0.protocolName = name }.timings?.protocolVersion == version)
    }

    @Test func `M79: Parts that are told at the end reach the metadata and the report that the caller has already`() {
        let running = RunningTimings()
        var response = Response(status: .ok)
        running.timings.firstByte = .seconds(9)
        response.metadata.runningTimings = running
        #expect(response.report.timings?.connect == nil)

        running.complete(with: Self.transaction { $0.responseStart = nil }.timings)
        // Without the end of the body, the last byte has not come.
        #expect(response.report.timings?.total == nil)
        running.end(after: .seconds(10))
        let timings = response.report.timings
        #expect(timings?.connect == .milliseconds(750) && timings?.firstByte == .seconds(9))
        #expect(timings?.total == .seconds(3) && response.report.explain().contains("a place in the pool after 250"))
    }
}

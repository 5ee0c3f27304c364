import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTelemetry

/// The attributes of logs and spans, by OpenTelemetry's semantic conventions.
@Suite struct ConventionValuesTests {
    private func attributes(_ report: CallReport) -> [String: any CustomStringConvertible] {
        Dictionary(
            uniqueKeysWithValues: report.conventionAttributes.compactMap { name, value in value.map { (name, $0) } })
    }

    @Test func `The names and the types are those of the convention's table, or Decorum's own`() throws {
        var report = CallReport(
            .attempt, callID: 0xA1, method: .init("LOCK"), routeName: "a", statusCode: 404, outcome: .abandoned)
        (report.url, report.origin) = ("https://[2001:db8::1]/a", try Origin("https://[2001:db8::1]"))
        (report.attempt, report.bytesSent, report.codedLength, report.bytesReceived) = (3, 5, 7, 70)
        (report.source, report.cache) = (.cache, .init("own"))
        report.timings = TransferTimings(total: .seconds(1))
        report.timings?.protocolVersion = "HTTP/1.1"
        report.timings?.remoteAddress = "192.0.2.1"
        let values = attributes(report)
        #expect(
            values.mapValues { "\($0)" } == [
                "http.request.method": "_OTHER", "http.request.method_original": "LOCK", "url.template": "a",
                "url.full": "https://[2001:db8::1]/a", "server.address": "2001:db8::1", "server.port": "443",
                "http.response.status_code": "404", "error.type": "404", "http.request.resend_count": "2",
                "http.request.body.size": "5", "http.response.body.size": "7", "network.protocol.version": "1.1",
                "network.peer.address": "192.0.2.1", "decorum.call.id": "00000000000000a1",
                "decorum.outcome": "abandoned", "decorum.source": "cache", "decorum.cache.result": "other",
            ])

        let table = try ConventionTable.read()
        #expect(table.version == "1.44.0")
        for attribute in table.span.attributes where attribute.level == "required" {
            #expect(values[attribute.name] != nil, "\(attribute.name)")
        }
        for (name, value) in values where !name.hasPrefix("decorum.") {
            #expect(table.span.attributes.first { $0.name == name }?.type == (value is String ? "string" : "int"))
        }
        #expect(attributes(CallReport()).keys.sorted() == ["decorum.outcome"])
    }

    @Test(arguments: [("GET", "GET"), ("QUERY", "QUERY"), ("PROPFIND", "_OTHER"), ("get", "_OTHER")])
    func `A method that the convention does not know is another one`(method: String, shown: String) throws {
        let values = attributes(CallReport(method: HTTPRequest.Method(method)))
        #expect(values["http.request.method"] as? String == shown)
        #expect(values["http.request.method_original"] as? String == (method == shown ? nil : method))
    }

    @Test(
        arguments: [
            (100, .finished, nil), (200, .finished, nil), (304, .finished, nil), (400, .finished, "400"),
            (503, .finished, "503"), (200, .abandoned, nil), (500, .abandoned, "500"), (nil, .cancelled, nil),
            (500, .cancelled, nil), (nil, .failed(name: "connectionLost"), "connectionLost"),
            (200, .failed(name: "connectionLost"), "connectionLost"), (404, .failed(name: "status"), "404"),
        ] as [(Int?, CallReport.Outcome, String?)])
    func `A failure and a status of 4xx or 5xx are errors, and a cancellation is none`(
        code: Int?, outcome: CallReport.Outcome, type: String?
    ) {
        #expect(CallReport(statusCode: code, outcome: outcome).errorType == type)
    }
}

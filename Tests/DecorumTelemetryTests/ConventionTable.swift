import DecorumTestSupport
import Foundation

/// What OpenTelemetry's semantic conventions say about HTTP clients.
struct ConventionTable: Decodable, Sendable {
    struct Attribute: Decodable, Sendable {
        let name: String
        let type: String
        /// One of `required`, `conditional`, `recommended` and `opt-in`.
        let level: String
    }

    struct Metric: Decodable, Sendable {
        let name: String
        let unit: String
        let attributes: [Attribute]
        let buckets: [Double]?
    }

    struct Span: Decodable, Sendable {
        let attributes: [Attribute]
    }

    let version: String
    let methods: [String]
    let metrics: [Metric]
    let span: Span

    static func read() throws -> ConventionTable {
        try JSONDecoder().decode(Self.self, from: Fixtures.data("tables/open-telemetry/http-client.json"))
    }
}

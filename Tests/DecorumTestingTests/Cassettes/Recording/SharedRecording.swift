import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The requests that a test of a suite sends, and the answers of the server.
struct Course {
    let test: String
    let exchanges: [(path: String, answer: String)]
    var fails = false

    init(_ test: String, _ exchanges: KeyValuePairs<String, String>, fails: Bool = false) {
        self.test = test
        self.exchanges = exchanges.map { ($0.key, $0.value) }
        self.fails = fails
    }
}

/// Records and replays a cassette that the tests of a suite share.
protocol SharedRecording {
    var folder: TemporaryFolder { get }
}

extension SharedRecording {
    /// Runs tests one after the other with one cassette, and returns its interactions.
    @discardableResult func run(
        _ mode: CassetteMode, day: Int = 1, rules: CassetteRules = CassetteRules(), isPartial: Bool = false,
        _ courses: Course...
    ) async throws -> [Interaction] {
        let defaults = CassetteDefaults(shared: SharedCassettes(isPartial: isPartial))
        let clock = VirtualClock(date: Date(timeIntervalSince1970: Double(day) * 86_400))
        for course in courses {
            let cassette = try defaults.cassette(
                at: folder.path("shared.json"), rules: rules, mode: mode, clock: clock, test: course.test)
            for (path, answer) in course.exchanges {
                let stub = StubConnection(Response(status: .ok, body: Body(Data(answer.utf8))))
                let response = try await CassetteConnection(cassette, recording: stub)
                    .send(.get("https://example.com" + path))
                #expect(try await response.body.text(upTo: 100) == answer, "\(course.test), \(path)")
            }
            if !course.fails { try await cassette.finish() }
        }
        return try Cassette(at: folder.path("shared.json"), mode: .replay).interactions()
    }

    func summary(_ interactions: [Interaction]) -> [String] {
        interactions.map { interaction in
            let path = interaction.request.url.replacing("https://example.com", with: "")
            let answer = String(decoding: interaction.response?.body.bytes ?? Data(), as: UTF8.self)
            return "\(path) \(answer) \(interaction.tests.joined(separator: ","))"
        }
    }
}

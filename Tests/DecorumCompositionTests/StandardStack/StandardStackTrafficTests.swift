import Decorum
import DecorumTesting
import HTTPTypes
import Testing

/// Each preset over a real server.
@Suite(.timeLimit(.minutes(3))) struct StandardStackTrafficTests {
    private struct Item: Decodable, Equatable {
        let name: String
    }

    @Test(arguments: StandardStack.Preset.allCases)
    func `A preset follows, retries, signs in and decodes`(preset: StandardStack.Preset) async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, "/v1/item", LoopbackOrigin.Answer(.found, fields: ["Location": "/v1/moved"]))
        origin.route(
            .get, "/v1/moved",
            LoopbackOrigin.Answer(fields: ["Content-Type": "application/json"], body: #"{"name": "one"}"#))
        var stack = StandardStack(preset, for: origin.url + "/v1/")
        stack.retries?.baseDelay = .milliseconds(1)
        stack.retries?.maximumDelay = .milliseconds(1)
        // The times of a preset are real, and a machine under load may need longer.
        stack.time = .init(call: .seconds(120), attempt: .seconds(60), idle: nil)
        let connection = try stack.composed(authentication: .with(.bearer("t0ken")))

        origin.enqueue(LoopbackOrigin.Answer(.serviceUnavailable))
        let item = try await connection.send(.get("item")).decode(Item.self, upTo: 1000)

        #expect(item == Item(name: "one"))
        #expect(origin.requests.map(\.target) == ["/v1/item", "/v1/item", "/v1/moved"])
        for request in origin.requests {
            #expect(request.fields[.authorization] == "Bearer t0ken")
            #expect(request.fields[.acceptEncoding]?.contains("gzip") == true)
        }
        let error = try await #require(throws: StatusError.self) { _ = try await connection.send(.get("missing")) }
        #expect(error.status == .notFound)
    }

    @Test func `The preset of an app asks the server once for a response that is fresh`() async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, "/feed", LoopbackOrigin.Answer(fields: ["Cache-Control": "max-age=60"], body: "news"))
        var stack = StandardStack(.app, for: origin.url)
        stack.time = .init(call: .seconds(120), attempt: .seconds(60), idle: nil)
        let connection = try stack.composed(principal: Principal("user-42"))
        for _ in 0..<3 {
            #expect(try await connection.send(.get("feed")).body.text(upTo: 100) == "news")
        }
        #expect(origin.requests.count == 1)
    }

    @Test func `A call ends at its deadline`() async throws {
        let origin = try LoopbackOrigin()
        origin.enqueue(.script(.hang))
        var stack = StandardStack(.tool, for: origin.url)
        stack.time = .init(call: .milliseconds(300), attempt: .milliseconds(200), idle: nil)
        stack.retries?.baseDelay = .seconds(2)
        let connection = try stack.composed()
        let error = try await #require(throws: TransportError.self) { _ = try await connection.send(.get("slow")) }
        #expect(error.code == .deadlineExceeded)
    }
}

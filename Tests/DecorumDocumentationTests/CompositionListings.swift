import Decorum
import DecorumTesting
import Foundation
import Testing

/// The listings of the canonical stack and of bounds.
@Suite struct CompositionListings {
    @Test func standardStack() throws {
        let token = "t0ken"
        var stack = StandardStack(for: "https://api.example.com/v1/")
        stack.callLog = .line
        stack.time?.call = .seconds(20)
        let connection = try stack.composed(authentication: .with(.bearer(token)), principal: Principal("user-42"))

        #expect(connection.bounds.duration.value == .seconds(21))
    }

    @Test func ownLayers() throws {
        let memory = OfflineMemory()
        let connection = try StandardStack(for: "https://api.example.com/v1/").composed(adding: [
            .outside(of: .caching) { $0.answeringOffline(from: memory) },
            .inPlace(of: .retries) { $0.retrying(RetryPolicy(when: .standard || .status(403))) },
        ])

        let names = connection.layers.map(\.name)
        #expect(names.contains("answeringOffline") && names.filter { $0 == "retrying" }.count == 1)
    }

    @Test func bounds() throws {
        let connection = try StandardStack(for: "https://api.example.com/").composed()

        let bounds = connection.bounds
        print(bounds.requests)  // One call sends at most 168 requests over the network: 21 by followingRedirects, …
        print(bounds.duration)  // One call takes at most 31.00 s until the head of its response: …
        print(bounds.bytes)  // One call holds at most 65 MiB of content in memory: 64 KiB by validatingStatus, …

        #expect(bounds.requests.value == 168)
    }

    @Test func settingsInAFile() throws {
        let settings = """
            { "preset": "server", "baseURL": "https://api.example.com/", "retries": { "retries": 1 }, "pacing": false }
            """
        let stack = try JSONDecoder().decode(StandardStack.self, from: Data(settings.utf8))

        #expect(stack.retries?.retries == 1 && stack.pacing == nil && stack.caching == nil)
    }

    @Test func choosingTheTransport() throws {
        let stack = StandardStack(.tool, for: "https://api.example.com/")
        let transport = URLSessionConnection(connectionsPerHost: 2)
        let connection = try stack.composed(over: transport)

        #expect(connection.layers.last?.name == "URLSessionConnection")
    }
}

import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Requests whose cookies differ: no login gets the page of another.
@Suite(.timeLimit(.minutes(3))) struct CookieTests {
    let store = MemoryResponseStore()
    let clock = VirtualClock()
    let spawner = TrackingSpawner()

    private func cache(_ base: some Connection) -> some Connection {
        base.caching(in: store, clock: clock, spawner: spawner)
    }

    private func get(_ cookie: String, by principal: String? = nil) throws -> Request {
        var request = try Request.get("https://example.com/page", fields: [.cookie: cookie])
        request.options.principal = principal.map(Principal.init)
        return request
    }

    /// A server with one page for each cookie, and with tags that name the page, or that are the same for all.
    private func pageOrigin(tag: String?, _ control: String = "max-age=60") -> StubConnection {
        StubConnection { request in
            let cookie = request.head.headerFields[.cookie] ?? ""
            var fields: HTTPFields = [.cacheControl: control]
            fields[.eTag] = tag?.replacing("COOKIE", with: cookie)
            if let tag = fields[.eTag], request.head.headerFields[.ifNoneMatch]?.contains(tag) == true {
                return Response(status: .notModified, fields: fields)
            }
            return Response(status: .ok, fields: fields, body: Body(cookie))
        }
    }

    static let tags: [String?] = [nil, #"W/"page""#, #""COOKIE""#]

    @Test(arguments: tags, [nil, "app"])
    func `The page of one login is never that of the next one`(tag: String?, principal: String?) async throws {
        let stub = pageOrigin(tag: tag)
        let connection = cache(stub)
        for cookie in ["sid=joe", "sid=ann", "sid=joe", "sid=ann; a=b", "sid=ann"] {
            let response = try await connection.send(get(cookie, by: principal))
            #expect(try await response.body.text(upTo: 100) == cookie)
        }
        #expect(stub.requests.count >= 3)
    }

    @Test func `Requests under way with different cookies are not sent as one`() async throws {
        let gate = Gate()
        defer { gate.open() }
        let stub = StubConnection { request in
            try await gate.wait()
            return Response(
                status: .ok, fields: [.cacheControl: "max-age=60"], body: Body(request.head.headerFields[.cookie] ?? "")
            )
        }
        let connection = cache(stub)
        let cookies = ["sid=joe; _ga=1", "sid=joe; _ga=2", "sid=ann; _ga=1", ""]
        let callers = await Callers.start(4) { number in
            try await connection.send(get(cookies[number], by: "app")).body.text(upTo: 100)
        }
        #expect(await soon { gate.waitingCount == 4 })
        gate.open()
        for (caller, cookie) in zip(callers, cookies) { #expect(try await caller.value == cookie) }
    }
}

import Decorum
import DecorumTesting
import Foundation
import Testing

@Suite struct CachingListings {
    func cacheStatus(response: Response) {
        for status in CacheStatus.list(in: response.head.headerFields) where status.isHit {
            print("\(status.cache) had it")
        }
    }

    func revalidating() {
        let connection = SystemConnection()
            .revalidating(in: MemoryResponseStore())
        _ = connection
    }

    func caching() {
        let connection = SystemConnection()
            .retrying()
            .caching(in: MemoryResponseStore())
            .followingRedirects()
        _ = connection
    }

    func policy(store: MemoryResponseStore, transport: some Connection) {
        var policy = CachingPolicy.standard
        policy.staleIfSlow = .seconds(2)
        policy.mayStore = { request, _ in request.path?.hasPrefix("/private/") == false }
        let connection = transport.caching(in: store, policy: policy)
        _ = connection
    }

    func cacheUse() throws {
        var request = try Request.get("https://api.example.com/feed")
        request.options.cacheUse = .reload
        _ = request
    }

    func status(of response: Response) {
        if let status = response.metadata.cacheStatus {
            print(status)  // Decorum;hit;ttl=42, or Decorum;fwd=stale;fwd-status=304;ttl=60;stored
            print(status.detail ?? "")  // not stored: the response has no-store (RFC 9111, 5.2.2.5)
        }
    }

    func files(caches: URL) {
        let store = FileResponseStore(directory: caches.appending(path: "Responses"))
        _ = store
    }

    struct Offline: ReachabilityError {
        var meansServerNotReached: Bool { true }
    }

    @Test func storeOfOnesOwn() async throws {
        let stub = StubConnection { request in
            let body: Body = request.head.path == "/private" ? "secret" : "news"
            return Response(status: .ok, fields: [.cacheControl: "max-age=60"], body: body)
        }
        let store = LatestResponses()
        let connection = stub.caching(in: store)
        func source(of path: String) async throws -> ResponseMetadata.Source? {
            var request = try Request.get("https://api.example.com" + path)
            request.options.principal = path == "/private" ? Principal("user-42") : nil
            return try await connection.send(request).metadata.source
        }

        #expect(try await source(of: "/feed") == .stub)
        #expect(try await source(of: "/private") == .stub)
        #expect(try await source(of: "/feed") == .cache)
        #expect(try await source(of: "/private") == .cache)

        await store.removeResponses(of: Principal("user-42"))
        #expect(try await source(of: "/feed") == .cache)
        #expect(try await source(of: "/private") == .stub)

        _ = try await connection.send(.post("https://api.example.com/feed", body: "more"))
        #expect(try await source(of: "/feed") == .stub)
        #expect(try await source(of: "/private") == .cache)
    }
}

actor LatestResponses: ResponseStore {
    let bodyLimit = 1 << 20
    private let tickets = StoreTickets()
    private var latest: [ResponseKey: (response: StoredResponse, number: UInt64)] = [:]

    nonisolated func ticket(for key: ResponseKey) -> StoreTicket { tickets.ticket(for: key) }

    func responses(for key: ResponseKey) -> [StoredResponse] { latest[key].map { [$0.response] } ?? [] }

    func store(_ response: StoredResponse, for key: ResponseKey, with ticket: StoreTicket) -> Bool {
        guard response.body.bytes != nil, tickets.isCurrent(ticket) else { return false }
        if let stored = latest[key], stored.number > ticket.number { return false }
        if latest.count == 100 { latest = [:] }
        latest[key] = (response, ticket.number)
        return true
    }

    func removeResponses(for key: ResponseKey) {
        tickets.withdraw(for: key)
        latest[key] = nil
    }

    func removeResponses(at uri: ResponseKey.URI) {
        tickets.withdraw(at: uri)
        latest = latest.filter { $0.key.uri != uri }
    }

    func removeResponses(of principal: Principal?) {
        tickets.withdraw(of: principal)
        latest = latest.filter { $0.key.principal != principal }
    }

    func removeAllResponses() {
        tickets.withdrawAll()
        latest = [:]
    }
}

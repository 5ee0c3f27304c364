import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Stacks drawn at random from Decorum's layers and careless ones, with two users and a cache: no response of one user
/// reaches the other.
@Suite(.timeLimit(.minutes(30))) struct RandomStackTests {
    static let drawsPerSeed = Footprint.isSoak ? 12_500 : 500

    @Test(arguments: 1...8)
    func `No user gets the response of another`(seed: UInt64) async throws {
        let dice = Dice(seed: seed)
        var readCount = 0
        var hitCount = 0
        for draw in 0..<Self.drawsPerSeed {
            let (reads, hits) = try await RandomStack(dice).run("seed \(seed), draw \(draw)")
            readCount += reads
            hitCount += hits
        }
        // Most requests are answered, and some of them from a store; otherwise the test would show nothing.
        #expect(readCount > Self.drawsPerSeed * 3)
        #expect(hitCount > Self.drawsPerSeed / 20)
    }
}

/// A stack of random layers over a server that knows its users, and random requests through it.
private struct RandomStack {
    let dice: Dice
    let connection: any Connection
    let clock = VirtualClock()
    let spawner = TrackingSpawner()

    init(_ dice: Dice) {
        self.dice = dice
        var stack: any Connection = RandomOrigin(
            showsCertificate: dice.draws(1, of: 10), body: dice.pick(RandomOrigin.bodies),
            isFresh: dice.draws(2, of: 3), redirection: dice.pick(RandomOrigin.Redirection.allCases))
        let store = MemoryResponseStore()
        var holdsSharing = false
        var losesOptions = false
        for _ in 0..<2 + dice.number(below: 6) {
            let layer = dice.pick(RandomLayer.all)
            // A cache cannot know that a field identifies users unless the name of the field, the options of the
            // request or the server's Vary show it (RFC 9111, section 4.1).
            if holdsSharing, layer.visibility == .never || layer.visibility == .byOptions && losesOptions { continue }
            holdsSharing = holdsSharing || layer.shares
            losesOptions = losesOptions || holdsSharing && layer.losesOptions
            stack = layer.add(stack, store, clock, spawner)
        }
        connection = stack.caching(in: store, clock: clock, spawner: spawner)
    }

    /// Sends requests of both users, some of them at the same time.
    ///
    /// - Returns: The number of responses that were read, and the number of them from a store.
    func run(_ name: String) async throws -> (reads: Int, hits: Int) {
        let namesPrincipal = dice.draws(1, of: 4)
        let identification = dice.draws(1, of: 4) ? dice.pick(Identification.allCases.filter(\.isVisible)) : nil
        let path = dice.pick(["/page", "/moved"])
        var reads = 0
        var hits = 0
        for _ in 0..<3 {
            let users = [dice.pick(["alice", "bob"]), dice.pick(["alice", "bob"])]
            let requests = try users.map { user in
                var request = try Request.get("https://example.com\(path)")
                request.options[UserKey.self] = user
                if namesPrincipal { request.options.principal = Principal(user) }
                identification?.identify(&request)
                return (user, request)
            }
            async let first = send(requests[0].1)
            async let second = send(requests[1].1)
            for (answer, user) in [(await first, users[0]), (await second, users[1])] {
                guard let (text, isHit) = answer else { continue }
                reads += 1
                hits += isHit ? 1 : 0
                #expect(["public", user].contains(text), "\(name): \(user) got \(text) from \(connection.layers)")
            }
            try await spawner.finished()
            clock.advance(by: .seconds(dice.draws(1, of: 3) ? 61 : 1))
        }
        return (reads, hits)
    }

    /// Sends a request; returns nil for an error, such as that for a user name in a URL.
    private func send(_ request: Request) async -> (text: String, isHit: Bool)? {
        guard let response = try? await connection.send(request),
            let text = try? await response.body.text(upTo: 100), response.status == .ok
        else { return nil }
        return (text, response.metadata.source == .cache || response.metadata.isCoalesced)
    }
}

/// A server that answers each user with their name, and allows every cache to store it.
private struct RandomOrigin: Connection {
    enum Redirection: CaseIterable {
        case sameOrigin, foreign, userOwn
    }

    static let bodies: [@Sendable (_ user: String) -> Body] = [
        { Body($0) }, { Body(arrived: Data($0.utf8)) },
        { user in Body(length: nil, replay: .once) { _ in try await Body(user).open() } },
    ]

    let showsCertificate: Bool
    let body: @Sendable (_ user: String) -> Body
    let isFresh: Bool
    let redirection: Redirection

    let layers = [Layer(name: "origin", role: .transport)]

    func send(_ request: consuming Request) async throws -> Response {
        request.reportSending(showingClientCertificate: showsCertificate)
        await Task.yield()
        let user = (showsCertificate ? request.options[UserKey.self] : nil) ?? request.user ?? "public"
        if request.head.path?.hasPrefix("/moved") == true {
            let location =
                switch redirection {
                case .sameOrigin: "/page"
                case .foreign: "https://other.example/page"
                case .userOwn: "/page/\(user)"
                }
            return Response(status: .found, fields: [.location: location])
        }
        let fields: HTTPFields = [.cacheControl: isFresh ? "max-age=60" : "max-age=0", .eTag: "\"\(user)\""]
        if request.head.headerFields[.ifNoneMatch] == fields[.eTag] {
            return Response(status: .notModified, fields: fields)
        }
        return Response(status: .ok, fields: fields, body: body(user))
    }
}

/// A layer of a random stack, either correct or careless.
private struct RandomLayer: Sendable {
    /// Whether a cache further in can recognise that an addition of the layer identifies the user.
    enum Visibility {
        case always, byOptions, never
    }

    let visibility: Visibility
    let shares: Bool
    let losesOptions: Bool
    let add: @Sendable (any Connection, MemoryResponseStore, VirtualClock, TrackingSpawner) -> any Connection

    init(
        _ visibility: Visibility = .always, shares: Bool = false, losesOptions: Bool = false,
        _ add:
            @escaping @Sendable (any Connection, MemoryResponseStore, VirtualClock, TrackingSpawner) -> any Connection
    ) {
        self.visibility = visibility
        self.shares = shares
        self.losesOptions = losesOptions
        self.add = add
    }

    static let all: [RandomLayer] = decorums + careless

    private static let decorums: [RandomLayer] = [
        RandomLayer { base, _, clock, _ in base.retrying(clock: clock) },
        RandomLayer { base, _, clock, _ in base.followingRedirects(clock: clock) },
        RandomLayer { base, _, clock, _ in base.followingRedirects(clock: clock) },
        RandomLayer(shares: true) { base, store, clock, spawner in
            base.caching(in: store, clock: clock, spawner: spawner)
        },
        RandomLayer(shares: true) { base, _, clock, spawner in
            base.caching(in: MemoryResponseStore(), clock: clock, spawner: spawner)
        },
        RandomLayer(shares: true) { base, store, clock, _ in base.revalidating(in: store, clock: clock) },
        RandomLayer(shares: true) { base, _, clock, spawner in base.coalescing(clock: clock, spawner: spawner) },
        RandomLayer { base, _, _, _ in base.addingDefaultFields([.accept: "text/plain"]) },
        RandomLayer { base, _, _, _ in
            (try? base.identifyingClient(as: ClientInformation(name: "App", version: "1"))) ?? base
        },
        RandomLayer { base, _, _, _ in base.logging(to: LogSink { _ in }) },
        RandomLayer { base, _, _, _ in base.validatingStatus() },
        RandomLayer(.byOptions) { base, _, _, _ in
            base.addingDefaultFields(secretFields: [zeug]) { request in
                [zeug: request.options[UserKey.self] ?? "public"]
            }
        },
        RandomLayer(.byOptions) { base, _, _, _ in
            base.overridingFields(secretFields: [zeug]) { request in [zeug: request.options[UserKey.self] ?? "public"] }
        },
        RandomLayer { base, _, _, _ in
            Origin.example.map { base.authenticating(with: .signer(UserSigner()), for: $0) } ?? base
        },
    ]

    private static let careless: [RandomLayer] =
        Identification.allCases.map { identification in
            RandomLayer(identification.isVisible ? .always : .never) { base, _, _, _ in
                base.intercepting("adding \(identification)") { request, base in
                    var request = request
                    identification.identify(&request)
                    return try await base.send(request)
                }
            }
        } + [
            RandomLayer { base, _, _, _ in
                base.intercepting("new response") { request, base in
                    let response = try await base.send(request)
                    return Response(head: response.head, body: response.body)
                }
            },
            RandomLayer(losesOptions: true) { base, _, _, _ in
                base.intercepting("new request") { request, base in
                    try await base.send(Request(head: request.head, body: request.body))
                }
            },
            RandomLayer { base, _, _, _ in
                base.intercepting("with a token at the second time") { request, base in
                    var request = request
                    _ = try await base.send(copy request)
                    Identification.authorization.identify(&request)
                    return try await base.send(request)
                }
            },
            RandomLayer { base, _, _, _ in
                base.intercepting("with a token at the first time") { request, base in
                    var first = copy request
                    Identification.authorization.identify(&first)
                    let response = try await base.send(first)
                    return response.status == .ok ? response : try await base.send(request)
                }
            },
            RandomLayer { base, _, _, _ in
                base.intercepting("signing in at the second time") { request, base in
                    var request = request
                    try await base.send(copy request).body.drain(upTo: 100)
                    request.options.principal = request.options[UserKey.self].map { Principal($0) }
                    Identification.authorization.identify(&request)
                    return try await base.send(request)
                }
            },
            RandomLayer { base, _, _, _ in
                base.intercepting("setting the principal") { request, base in
                    var request = request
                    request.options.principal = request.options[UserKey.self].map { Principal($0) }
                    return try await base.send(request)
                }
            },
            RandomLayer { base, _, _, _ in
                let layers = base.layers
                return ClosureConnection(named: "\(layers.count) layers by hand") { try await base.send($0) }
            },
        ]
}

private struct UserSigner: RequestSigner {
    let secretFields: Set<HTTPField.Name> = [.authorization]

    func sign(_ request: Request) async throws -> Request {
        var request = request
        if let user = request.options[UserKey.self] { request.head.headerFields[.authorization] = "Bearer \(user)" }
        return request
    }
}

private let zeug = HTTPField.Name("X-Zeug") ?? .from

extension Origin {
    fileprivate static let example = try? Origin("https://example.com")
}

/// Random choices that follow from a seed.
private struct Dice {
    private let generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    func number(below limit: Int) -> Int {
        Int(generator.next() % UInt64(limit))
    }

    func draws(_ count: Int, of all: Int) -> Bool {
        number(below: all) < count
    }

    func pick<Element>(_ elements: [Element]) -> Element {
        elements[number(below: elements.count)]
    }
}

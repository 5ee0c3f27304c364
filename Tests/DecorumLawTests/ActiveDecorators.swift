import Decorum
import DecorumConformance
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization

extension ExaminedDecorator {
    /// The decorators of the package that act on some answers, on these.
    static let active: [ExaminedDecorator] = [
        .init(
            "retrying what is overloaded, refused or lost",
            answering: [.overloaded, .overloadedUpload, .refused, .broken]
        ) { $0.retrying(clock: $1.clock) },
        .init(
            "retrying inside of a layer that makes requests idempotent", adding: [.idempotencyKey],
            answering: [.overloaded, .broken, .ledAfterPost]
        ) {
            $0.retrying(clock: $1.clock).addingIdempotencyKey()
        },
        .init("pacing what is overloaded or limited", answering: [.overloaded, .limited]) {
            $0.pacing(clock: $1.clock)
        },
        .init("retrying outside of pacing", answering: [.overloaded, .limited, .broken]) {
            $0.pacing(clock: $1.clock).retrying(clock: $1.clock)
        },
        .init("caching, in use", answering: [.keepable, .kept, .validated, .keptThenLost]) {
            $0.caching(in: MemoryResponseStore(), clock: $1.clock)
        },
        .init("revalidating, in use", answering: [.validated, .keepable]) { base, _ in
            base.revalidating(in: MemoryResponseStore())
        },
        .init("coalescing over failures", answering: [.broken]) { $0.coalescing(clock: $1.clock) },
        .init("followingRedirects, in use", answering: [.led, .ledAfterPost, .ledUpload]) {
            $0.followingRedirects(clock: $1.clock)
        },
        .init("followingRedirects that are remembered, in use", answering: [.movedForGood, .led, .ledAfterPost]) {
            $0.followingRedirects(remembering: PermanentRedirections(), clock: $1.clock)
        },
        .init("authenticating with a field of one's own", adding: [.vendor]) { base, _ in
            try base.authenticating(with: .field(.vendor, "token"), for: Origin(DecoratorLaw.origin))
        },
        .init("authenticating from a source", adding: [.authorization]) { base, conditions in
            try base.authenticating(
                from: LawfulSource(), for: Origin(DecoratorLaw.origin), clock: conditions.clock)
        },
        .init(
            "authenticating with a signed query",
            .all.excluding(.concurrency, because: "It tells calls apart by their targets, which a signature extends."),
            changing: [.target]
        ) { base, _ in
            try base.authenticating(with: .signer(LawfulSigner()), for: Origin(DecoratorLaw.origin))
        },
        .init("allowing unencrypted credentials") { base, _ in base.allowingUnencryptedCredentials() },
        .init("sending again, once the answer is discarded") { base, conditions in
            OnceMore(base: base, clock: conditions.clock)
        },
        .init("a circuit breaker", answering: [.down]) { base, _ in CircuitBreaker(base: base) },
        .init("logging bodies of failures", answering: [.refused, .broken, .overloaded]) {
            $0.logging(to: $1.log, detail: .bodies())
        },
        .init("decompressing, in use", adding: [.acceptEncoding], answering: [.coded]) { base, _ in
            base.decompressing()
        },
        .init(
            "compressing, in use", adding: [.contentEncoding, .contentLength], changing: [.requestContent],
            answering: [.compressible, .refusedCoding]
        ) { $0.compressing(.init(minimumLength: 1), clock: $1.clock) },
        .init(
            "validatingStatus, in use", .all.excluding(.statuses, because: "It throws for the statuses not accepted."),
            answering: [.overloaded]
        ) { base, _ in base.validatingStatus() },
        .init("relative, in use", answering: [.relative]) { base, _ in
            try base.resolving(against: DecoratorLaw.origin + "/api/")
        },
        .init("addingDefaultFields that are secret", adding: [.vendor]) { base, _ in
            base.addingDefaultFields(secretFields: [.vendor]) { _ in [.vendor: "secret"] }
        },
        .init("overridingFields that are secret", adding: [.vendor]) { base, _ in
            base.overridingFields(secretFields: [.vendor]) { _ in [.vendor: "secret"] }
        },
        .init("intercepting with a secret", adding: [.vendor]) { base, _ in
            base.intercepting(facts: [.addsCredentials], secretFields: [.vendor]) { request, base in
                var request = request
                request.head.headerFields[.vendor] = "secret"
                return try await base.send(request)
            }
        },
        .init(
            "a whole stack, in use",
            .all.excluding(.shownDeclarations, because: "It stores nothing without a principal."),
            adding: [.authorization, .userAgent],
            answering: [.overloaded, .broken, .led, .validated]
        ) {
            try $0.authenticating(with: .bearer("token"), for: Origin(DecoratorLaw.origin))
                .retrying(clock: $1.clock)
                .revalidating(in: MemoryResponseStore())
                .followingRedirects(clock: $1.clock)
                .addingDefaultFields([.userAgent: "law"])
                .logging(to: $1.log, detail: .fields)
        },
    ]
}

extension DecoratorLaw.ActivePath {
    fileprivate static let overloaded = Self("a 503") { _, number in
        number < 3 ? Response(status: .serviceUnavailable, fields: [.retryAfter: "2"]) : Response(status: .ok)
    }
    fileprivate static let down = Self("a server that is down", times: 4) { _, _ in
        Response(status: .serviceUnavailable)
    }
    fileprivate static let limited = Self("a used rate limit", times: 2) { _, _ in
        Response(status: .ok, fields: [.rateLimit: #""default";r=0;t=2"#])
    }
    fileprivate static let overloadedUpload = Self(
        "a 503 for an upload", sending: Request(head: head(.put, "/upload"), body: "the content of an upload")
    ) { _, number in
        Response(status: number == 1 ? .serviceUnavailable : .ok)
    }
    fileprivate static let refused = Self("a connection that is refused") { _, number in
        guard number > 1 else { throw TransportError(.connectionRefused, at: .connecting) }
        return Response(status: .ok)
    }
    fileprivate static let broken = Self("a connection that breaks") { _, number in
        guard number > 2 else { throw TransportError(.connectionLost, at: .head) }
        return Response(status: .ok)
    }
    fileprivate static let kept = Self("a response that is kept", times: 2) { _, _ in
        Response(status: .ok, fields: [.cacheControl: "max-age=60"], body: "kept")
    }
    fileprivate static let validated = Self("a response that is confirmed", times: 2, adding: [.ifNoneMatch]) {
        request, _ in
        let fields: HTTPFields = [.cacheControl: "no-cache", .eTag: #""1""#]
        guard !request.headerFields.contains(.ifNoneMatch) else {
            return Response(status: .notModified, fields: fields)
        }
        return Response(status: .ok, fields: fields, body: "confirmed")
    }
    fileprivate static let keptThenLost = Self("a stale response of a lost server", times: 2, adding: [.ifNoneMatch]) {
        _, number in
        guard number == 1 else { throw TransportError(.unreachable, at: .connecting) }
        return Response(status: .ok, fields: [.cacheControl: "max-age=0", .eTag: #""1""#], body: "stale")
    }
    fileprivate static let led = Self("two redirections", changing: [.target]) { _, number in
        number < 3
            ? Response(status: .found, fields: [.location: "/\(number)"]) : Response(status: .ok, body: "moved")
    }
    fileprivate static let movedForGood = Self("a permanent redirection", times: 2, changing: [.target]) { request, _ in
        request.path == "/moved"
            ? Response(status: .ok, body: "moved")
            : Response(status: .movedPermanently, fields: [.location: "/moved"])
    }
    fileprivate static let ledAfterPost = Self(
        "a redirection after a POST",
        sending: Request(
            head: head(.post, "/form", fields: [.contentType: "text/plain", .contentLength: "4"]), body: "form"),
        adding: [.contentType, .contentLength, .contentLanguage],
        changing: [.method, .target, .requestContent]
    ) { _, number in
        number == 1 ? Response(status: .seeOther, fields: [.location: "/done"]) : Response(status: .ok)
    }
    fileprivate static let ledUpload = Self(
        "a redirection of an upload", sending: Request(head: head(.put, "/upload"), body: "the content of an upload"),
        changing: [.target]
    ) { _, number in
        number == 1 ? Response(status: .temporaryRedirect, fields: [.location: "/new"]) : Response(status: .ok)
    }
    fileprivate static let coded = Self("content in gzip", changing: [.responseContent]) { _, _ in
        let content =
            "H4sIAAAAAAACAxXLwQ2AMAwDwFU8AGIaFkDgNIjioKbdH/q/25w4Qp3qCMOOxnxDyQU1VEDFKA6Lhozntz5056TnZcY2X6VK9/UD+Zo2lUsAAAA="
        return Response(
            status: .ok, fields: [.contentEncoding: "gzip"], body: Body(Data(base64Encoded: content) ?? Data()))
    }
    fileprivate static let compressible = Self(
        "content that can be compressed", sending: Request(head: head(.put, "/upload"), body: repetitive)
    ) { _, _ in Response(status: .ok) }
    fileprivate static let refusedCoding = Self(
        "a coding that is refused", sending: Request(head: head(.put, "/upload"), body: repetitive)
    ) { request, _ in
        request.headerFields.contains(.contentEncoding)
            ? Response(status: .unsupportedMediaType, fields: [.acceptEncoding: "identity"])
            : Response(status: .ok)
    }
    private static let repetitive = Body(String(repeating: "the same line\n", count: 100))
    fileprivate static let relative = Self(
        "a relative request",
        sending: Request(head: HTTPRequest(method: .get, scheme: nil, authority: nil, path: "feed")),
        changing: [.target]
    ) { _, _ in Response(status: .ok) }

    private static func head(
        _ method: HTTPRequest.Method, _ path: String, fields: HTTPFields = [:]
    ) -> HTTPRequest {
        HTTPRequest(method: method, scheme: "https", authority: "origin.example", path: path, headerFields: fields)
    }
}

extension HTTPField.Name {
    // All are names: literals without blanks.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let vendor = HTTPField.Name("X-Vendor-Key")!
    // swift-format-ignore: NeverForceUnwrap
    static let requestID = HTTPField.Name("X-Request-ID")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let rateLimit = HTTPField.Name("RateLimit")!
}

/// Sends again as the page about decorators says: it discards the answer first.
private struct OnceMore: ComposedConnection {
    let base: AnyConnection
    let clock: any DatedClock

    var layer: Layer {
        Layer(
            name: "onceMore", role: .resilience, facts: [.readsStatus], sending: .init(1...2),
            time: .init(reading: .atMost(Body.discardTime)))
    }

    func send(_ request: consuming Request) async throws -> Response {
        let request = request
        let response = try await base.send(request)
        guard response.status == .serviceUnavailable, request.head.method.isSafe else { return response }
        try await response.body.discard(until: request.options.deadline, on: clock)
        try Task.checkCancellation()
        return try await base.send(request)
    }
}

/// Refuses to send after three failures in sequence.
private struct CircuitBreaker: ComposedConnection {
    struct OpenError: Error {}

    private final class Failures: Sendable {
        let count = Atomic(0)
    }

    let base: AnyConnection
    private let failures = Failures()

    init(base: AnyConnection) {
        self.base = base
    }

    var layer: Layer { Layer(name: "breaking", role: .resilience, facts: [.refuses, .readsStatus]) }

    func send(_ request: consuming Request) async throws -> Response {
        guard failures.count.load(ordering: .relaxed) < 3 else { throw OpenError() }
        let response = try await base.send(request)
        if response.status.kind == .serverError {
            failures.count.add(1, ordering: .relaxed)
        } else {
            failures.count.store(0, ordering: .relaxed)
        }
        return response
    }
}

/// A source that waits a little for its token.
struct LawfulSource: CredentialSource {
    func credentials(for attempt: AuthenticationAttempt) async throws -> Credentials? {
        await Task.yield()
        return try .bearer("token")
    }
}

/// Signs by an item of the query.
struct LawfulSigner: RequestSigner {
    let secretFields: Set<HTTPField.Name> = []

    func sign(_ request: Request) -> Request {
        var request = request
        let path = request.head.path ?? "/"
        request.head.path = path + (path.contains("?") ? "&" : "?") + "proof=\(path.utf8.count)"
        return request
    }
}

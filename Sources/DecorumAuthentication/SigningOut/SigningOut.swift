public import Decorum
import Foundation
import HTTPTypes
import Synchronization

extension Connection {
    /// Ends each request of a user when the user signs out, and the body of its response too.
    ///
    /// A reader who waits for a chunk gets ``SignedOutError`` at once, and one who does not gets it at the next chunk; the
    /// transfer stops in both cases. A body in memory has arrived already, and stays as it is.
    ///
    /// A request without a principal passes unchanged. Each other one, and each chunk, is awaited in a task of its own, which
    /// ends before its caller goes on. Place it inside of `acting(for:)`, and outside of all layers that wait, such as
    /// `retrying`. In a `StandardStack`, write `adding: [.ending(with: requests)]`.
    ///
    /// - Parameter requests: The list of the requests, which ``SigningOut`` signs out of.
    /// - Returns: A connection that throws ``SignedOutError`` too.
    public func ending(with requests: RequestsUnderWay) -> some Connection {
        EndingConnection(base: self, requests: requests)
    }
}

struct EndingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let requests: RequestsUnderWay

    var layer: Layer {
        Layer(name: "ending", role: .resilience, memory: .init(state: [Layer.StateIdentity(requests)]))
    }

    func send(_ request: consuming Request) async throws -> Response {
        guard let principal = request.options.principal else { return try await base.send(request) }
        let session = UserSession(principal, in: requests)
        let sent = copy request
        let work = Task { [base] in try await base.send(sent) }
        guard let entry = session.add({ work.cancel() }) else {
            work.cancel()
            _ = await work.result
            throw SignedOutError(.signedOut)
        }
        defer { withExtendedLifetime(entry) {} }
        var response: Response
        do {
            response = try await work.valueCancelledByCaller
        } catch let error as CancellationError {
            guard session.isOver, !Task.isCancelled else { throw error }
            throw SignedOutError(.signedOut)
        }
        guard !session.isOver else { throw SignedOutError(.signedOut) }
        if response.body.bytes == nil { response.body = try response.body.ending(with: session) }
        return response
    }
}

/// The time from a request of a user until the user signs out.
struct UserSession: Sendable {
    private let principal: Principal
    private let requests: RequestsUnderWay
    private let generation: Int

    init(_ principal: Principal, in requests: RequestsUnderWay) {
        self.principal = principal
        self.requests = requests
        generation = requests.generation(of: principal)
    }

    var isOver: Bool { requests.generation(of: principal) != generation }

    /// Adds what ends with the session; nil if the session is over.
    func add(_ end: @escaping @Sendable () async -> Void) -> RequestsUnderWay.Entry? {
        let number = requests.state.withLock { state -> Int? in
            guard state.generations[principal] ?? 0 == generation else { return nil }
            state.last += 1
            state.requests[state.last] = (principal, end)
            return state.last
        }
        return number.map { RequestsUnderWay.Entry($0, in: requests) }
    }
}

extension Task where Failure == any Error {
    /// The value; the task is cancelled when the caller is.
    var valueCancelledByCaller: Success {
        get async throws {
            try await withTaskCancellationHandler {
                try await value
            } onCancel: {
                cancel()
            }
        }
    }
}

extension Body {
    /// The body, which ends when a session does; throws ``SignedOutError`` if the session is over.
    func ending(with session: UserSession) throws -> Body {
        guard replay == .once else {
            let body = self
            return Body(length: length, replay: replay) { offset in
                try await EndingBodyReader(body, with: session).opened(at: offset)
            }
            .typed(as: mediaType)
        }
        // It is in the list before it is opened, since its transfer goes on; only the reader holds it, so that its end ends that.
        let reader = try EndingBodyReader(self, with: session)
        return Body(length: length, replay: replay) { try await reader.opened(at: $0) }.typed(as: mediaType)
    }
}

/// One reading of a body; an actor, since the end of a session comes while a task waits for a chunk.
private actor EndingBody {
    typealias Chunk = (bytes: Data?, trailers: HTTPFields?)

    private var body: Body?
    private var reader: (any BodyReader)?
    private var isOver = false
    private var wait: Task<Chunk, any Error>?

    init(_ body: Body) {
        self.body = body
    }

    func open(at offset: Int64) async throws {
        _ = try await waiting { try await $0.openBody(at: offset) }
    }

    func next() async throws -> Chunk {
        try await waiting { try await $0.read() }
    }

    /// Ends the reading: a task that waits gets an error, and the transfer stops.
    func end() {
        isOver = true
        wait?.cancel()
        (body, reader) = (nil, nil)
    }

    private func waiting(
        _ operation: @escaping @Sendable (isolated EndingBody) async throws -> Chunk
    ) async throws -> Chunk {
        guard !isOver else { throw SignedOutError(.signedOut) }
        let wait = Task { try await operation(self) }
        self.wait = wait
        defer { self.wait = nil }
        let result: Result<Chunk, any Error>
        do {
            result = .success(try await wait.valueCancelledByCaller)
        } catch {
            result = .failure(error)
        }
        // Without its reader, a body that is not complete looks as if it ended here, to a caller that was cancelled too.
        if isOver { throw Task.isCancelled ? CancellationError() as any Error : SignedOutError(.signedOut) }
        return try result.get()
    }

    private func openBody(at offset: Int64) async throws -> Chunk {
        let opened = try await body.take()?.open(at: offset)
        if !isOver { reader = opened }
        return (nil, nil)
    }

    private func read() async throws -> Chunk {
        var current = reader.take()
        // Kept after an error too, since a body that is not complete must not end as if it were.
        defer { if !isOver { reader = current } }
        let bytes = try await current?.next()
        return (bytes, bytes == nil ? current?.trailers : nil)
    }
}

private struct EndingBodyReader: BodyReader, Sendable {
    private let body: EndingBody
    /// Nil after the end of the body.
    private var entry: RequestsUnderWay.Entry?
    private(set) var trailers: HTTPFields?

    init(_ body: Body, with session: UserSession) throws {
        let reading = EndingBody(body)
        // Not retained by the list, so that a body that is dropped stops its transfer.
        guard let entry = session.add({ [weak reading] in await reading?.end() }) else {
            throw SignedOutError(.signedOut)
        }
        self.body = reading
        self.entry = entry
    }

    func opened(at offset: Int64) async throws -> EndingBodyReader {
        try await body.open(at: offset)
        return self
    }

    mutating func next() async throws -> Data? {
        let chunk = try await body.next()
        guard chunk.bytes == nil else { return chunk.bytes }
        (trailers, entry) = (trailers ?? chunk.trailers, nil)
        return nil
    }
}

/// The requests of each user that are under way, so that they end when the user signs out.
///
/// One value is shared by `ending(with:)` of all stacks of the user, and by ``SigningOut``.
public final class RequestsUnderWay: SignsOut {
    fileprivate struct State {
        var generations: [Principal: Int] = [:]
        var requests: [Int: (principal: Principal, end: @Sendable () async -> Void)] = [:]
        var last = 0
    }

    /// A place in the list, which is kept until this is released.
    final class Entry: Sendable {
        private let requests: RequestsUnderWay
        private let number: Int

        fileprivate init(_ number: Int, in requests: RequestsUnderWay) {
            self.requests = requests
            self.number = number
        }

        deinit {
            requests.remove(number)
        }
    }

    fileprivate let state = Mutex(State())

    /// Creates the list, without a request.
    public init() {}

    /// Ends all requests of a user, and the bodies of their responses; their callers get ``SignedOutError``.
    ///
    /// - Parameter principal: The user.
    public func signOut(_ principal: Principal) async {
        let requests = state.withLock { state in
            state.generations[principal, default: 0] += 1
            return state.requests.values.filter { $0.principal == principal }
        }
        for request in requests { await request.end() }
    }

    /// The number of requests, of all users, that have no response yet, or one whose body is under way.
    var count: Int { state.withLock { $0.requests.count } }

    fileprivate func generation(of principal: Principal) -> Int { state.withLock { $0.generations[principal] ?? 0 } }

    private func remove(_ number: Int) {
        // Released outside of the lock, since the closure may hold the last reference to something.
        let removed = state.withLock { $0.requests.removeValue(forKey: number) }
        withExtendedLifetime(removed) {}
    }
}

/// Signs a user out of all parts of an app in one call.
///
/// ```swift
/// let session = SigningOut(requests, tokens, cookies, responses)
/// try await session.signOut(Principal("user-42"))
/// ```
///
/// ``Tokens``, ``RequestsUnderWay``, the `CookieJar` of `DecorumCookies` and the stores of responses are such parts; `SignsOut`
/// is the protocol for one of your own.
///
/// Give the parts in the order in which they are to end: requests under way first, then tokens, then what was stored, since
/// a request that still runs could store something again.
public struct SigningOut: SignsOut {
    private let parts: [any SignsOut]

    /// Creates the list of parts.
    ///
    /// - Parameter parts: The parts, in the order in which they are signed out of.
    public init(_ parts: any SignsOut...) {
        self.parts = parts
    }

    /// Signs the user out of each part, also where an earlier part fails.
    ///
    /// - Parameter principal: The user.
    /// - Throws: ``SigningOutError`` with the errors of the parts that have failed.
    public func signOut(_ principal: Principal) async throws {
        var errors: [any Error] = []
        for part in parts {
            do {
                try await part.signOut(principal)
            } catch {
                errors.append(error)
            }
        }
        if !errors.isEmpty { throw SigningOutError(errors: errors) }
    }
}

/// Some data of a user may remain after signing out.
public struct SigningOutError: DescribableError, Sendable {
    /// The errors of the parts.
    public let errors: [any Error]

    /// The errors, without secrets.
    public var description: String {
        let causes = errors.map { Redaction.standard.description(of: $0) }.joined(separator: " ")
        return "Some data of the user may remain; sign out again. \(causes)"
    }
}

extension MemoryResponseStore: SignsOut {
    /// Removes the stored responses of the user.
    public func signOut(_ principal: Principal) async { removeResponses(of: principal) }
}

extension FileResponseStore: SignsOut {
    /// Removes the stored responses of the user.
    public func signOut(_ principal: Principal) async { await removeResponses(of: principal) }
}

extension Tokens: SignsOut {
    /// Removes the token, since all of them are of one user.
    public func signOut(_ principal: Principal) async throws {
        try await signOut()
    }
}

public import Decorum
public import Foundation
import HTTPTypes

extension Connection {
    /// Makes an outbox, which accepts requests that write while there is no network, and sends them later.
    ///
    /// ```swift
    /// let outbox = connection.outbox(in: support.appending(path: "Outbox"), for: user, network: network)
    /// outbox.start()
    /// let id = try await outbox.add(.post("https://api.example.com/notes", body: Body(json: note)))
    /// ```
    ///
    /// A request that was accepted is on the disk, and is sent as often as it takes, with one `Idempotency-Key`. Without a
    /// monitor of the network, the waits grow up to a quarter of an hour. Nothing is sent before ``Outbox/start()``.
    ///
    /// **Lanes.** The requests of a lane are sent one after the other, in the order in which they were added. A refusal (4xx)
    /// ends the request, and the next one is sent. ``Outbox/request(of:)`` gives what was refused.
    ///
    /// **Secrets.** A request is kept without `Authorization`, `Cookie` and all fields that the redaction or the request holds
    /// secret. The connection adds them when it is sent, so apply this to the whole stack. If the URL, a field or text may
    /// still hold a credential, the request is refused, unless `url` gives the URL anew when it is sent. What the redaction
    /// does not know, and binary content, is not found.
    ///
    /// **Users.** What was added on behalf of a user, or of nobody, is sent only through a stack that acts for that user, as a
    /// stack with credentials has to say (`acting(for:)`). Otherwise, nothing is accepted or sent: see ``Outbox/error``.
    ///
    /// Only the head, content, route name and idempotency key are kept. Several processes may add to one folder, which is for
    /// outboxes alone. On iOS, stop one in the container of an app group before the app is suspended, since it holds a lock.
    public func outbox(
        in folder: URL, for principal: Principal? = nil, limits: OutboxLimits = OutboxLimits(),
        network: (any NetworkMonitor)? = nil, redaction: Redaction = .standard, clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator(), spawner: any TaskSpawner = SystemSpawner(),
        url: (@Sendable (_ entry: OutboxEntry) async throws -> URL)? = nil
    ) -> Outbox {
        let settings = EntrySender.Settings(
            connection: self, root: folder, principal: principal, limits: limits, places: 4, network: network,
            redaction: redaction, clock: clock, generator: generator, spawner: spawner, url: url)
        return Outbox(EntrySender(settings))
    }
}

/// The number, the age and the size of what an ``Outbox`` keeps for one principal.
public struct OutboxLimits: Sendable, Hashable {
    /// The largest number of requests that wait, and of results.
    public var count: Int
    /// The time after which a request that waits fails, and a result is removed; a clock that jumps meanwhile ends nothing.
    public var age: Duration
    /// The largest number of bytes on the disk; the oldest results make room for new requests, and then the oldest failures.
    public var bytes: Int64

    /// Creates limits of 1,000 requests, 14 days, and 256 MiB; a negative number counts as 0.
    public init(count: Int = 1000, age: Duration = .seconds(14 * 86_400), bytes: Int64 = 256 << 20) {
        (self.count, self.age, self.bytes) = (max(0, count), age.bounded, max(0, bytes))
    }
}

/// Requests that were accepted to be sent later; `outbox(in:)` of a connection makes one.
///
/// One that nobody holds any longer stops. All functions throw `PrivateFileError` for a folder that cannot be read or written,
/// and ``OutboxError`` for an entry that was set aside.
public final class Outbox: SignsOut {
    let sender: EntrySender

    init(_ sender: EntrySender) { self.sender = sender }

    deinit { sender.halt() }

    /// Starts to send, or to wait for the end of another process that does.
    public func start() { sender.start() }

    /// Stops to send; a request that is under way is cancelled, and sent again after the next start.
    public func stop() async { await sender.stop() }

    /// The error because of which nothing is sent now, such as a folder that is not private; nil without one.
    public var error: (any Error)? { sender.error }

    /// Accepts a request; once this returns, a crash or a loss of power does not lose it.
    ///
    /// The method is one that is not safe, and the content is read once. `lane` is a name without secrets; nil for the origin.
    /// With `allowingSecrets`, the URL, fields and content may look like credentials, and stand on the disk.
    ///
    /// - Throws: ``OutboxError``, `InvalidRequestError`, `StructuredFieldError` for an idempotency key that is not printable
    ///   ASCII, `PrivateFileError`, and the error that prevents reading the content.
    @discardableResult @concurrent public func add(
        _ request: Request, lane: String? = nil, allowingSecrets: Bool = false
    ) async throws -> OutboxEntry.ID {
        guard !request.head.method.isSafe else { throw OutboxError(.safeMethod) }
        return try await sender.add(request, lane: lane, allowingSecrets: allowingSecrets)
    }

    /// All entries that wait or have ended, in the order in which they were added.
    public func entries() async throws -> [OutboxEntry] {
        try await sender.look()
        return sender.updates.value
    }

    /// The entries now, and then after each change that this process makes or sees; a slow reader gets the newest.
    public func updates() -> AsyncStream<[OutboxEntry]> { sender.updates.stream() }

    /// The end of an entry; nil while it waits, and for one that is not known any longer.
    @concurrent public func result(of id: OutboxEntry.ID) async throws -> OutboxResult? {
        try known(sender.folder.read(id)?.result, of: id)
    }

    /// The request of an entry that waits or has failed, without credentials; nil for any other.
    @concurrent public func request(of id: OutboxEntry.ID) async throws -> Request? {
        let record = try sender.folder.read(id, "request")
        let body = try record.flatMap { try sender.folder.body(of: $0) }
        return try known(body.flatMap { record?.request(with: $0) }, of: id)
    }

    private func known<Value>(_ value: Value?, of id: OutboxEntry.ID) throws -> Value? {
        let file = value == nil ? try sender.folder.asideFiles().first(where: id.isName) : nil
        return try file.map { throw OutboxError(.setAside($0)) } ?? value
    }

    /// The files that were set aside, for ``OutboxError/Reason/setAside(_:)``, until the app or a sign-out removes them.
    @concurrent public func asideFiles() async throws -> [URL] { try await sender.asideFiles() }

    /// Cancels an entry that has not succeeded, and tells whether it was there; what was sent by then may be carried out.
    @discardableResult public func cancel(_ id: OutboxEntry.ID) async throws -> Bool { try await sender.cancel(id) }

    /// Removes all of a user, also of another one than the outbox acts for; what was sent by then may be carried out.
    public func signOut(_ principal: Principal) async throws { try await sender.remove(for: principal) }
}

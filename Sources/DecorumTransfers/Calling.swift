public import Decorum
import Foundation
import Synchronization

extension Connection {
    /// Makes a handle of one request and the content of its answer, to watch it, and to end it from anywhere.
    ///
    /// ```swift
    /// let call = connection.call(request)
    /// let page = try await call.value.decode(Page.self, upTo: 1 << 20)
    /// ```
    ///
    /// The response comes with its whole content in memory, of at most `limit` bytes (16 MiB by default), without trailer
    /// fields. Nothing has started the handle; its value throws the error of the connection, or `BodyLimitError`. It belongs to
    /// the set, on behalf of the user that the request, or else `acting(for:)`, names. After a pause, a failure or a restart,
    /// the request is sent again from its begin, so do that only to one that may be carried out twice.
    public func call(
        _ request: Request, upTo limit: Int = 16 << 20, in calls: CallSet? = nil, clock: any DatedClock = SystemClock(),
        spawner: any TaskSpawner = SystemSpawner()
    ) -> Transfer<Response> {
        let call = Transfer(of: principal(of: request), clock: clock, spawner: spawner) { run in
            var response = try await send(run.prioritized(request))
            let body = response.body
            run.begin(at: 0, of: body.length)
            let counted = body.observed { if case .chunk(let chunk) = $0 { run.add(chunk.count) } }
            response.body = Body(try await counted.data(upTo: limit)).typed(as: body.mediaType)
            return response
        }
        calls?.insert(call)
        return call
    }

    /// The user of a request: the one that it names, else the one for whom the outermost layer that names any acts.
    func principal(of request: Request) -> Principal? {
        request.options.principal ?? layersNamingUsers.lazy.flatMap(\.settings).compactMap(\.principal).first
    }

    /// The layers that name the user of requests which name none, the outermost first.
    var layersNamingUsers: [Layer] { layers.flatMap(\.passed).filter { $0.facts.contains(.setsPrincipal) } }
}

extension RequestOptions {
    /// The URL by which a transfer is known again, if the one that is sent differs in secrets; nil for the one that is sent.
    var transferTarget: String? {
        get { self[TransferTargetKey.self] }
        set { self[TransferTargetKey.self] = newValue }
    }
}

private enum TransferTargetKey: RequestOptionKey { static let defaultValue: String? = nil }

/// Handles that an app cancels together, such as all of a page, or all of a user.
///
/// A set does not keep its handles alive. The limiter of `DecorumTraffic` ends all requests of a stack, or of a group.
public final class CallSet: SignsOut {
    private struct Member {
        let principal: Principal?
        /// Cancels the handle; nil once it has gone.
        let cancel: @Sendable () -> (@Sendable (_ reason: String?) -> Void)?
    }

    private let principal: Principal?
    /// The members, and the number of them above which those who have gone are looked for, so that each costs little.
    private let state = Mutex((members: [Member](), limit: 16))

    /// Creates an empty set; `principal` is the user of all handles for which neither a request nor `acting(for:)` names one.
    public init(for principal: Principal? = nil) { self.principal = principal }

    /// Adds a call, a download or an upload of a user; nil for the one that it names, or else that of the set.
    public func insert<Value>(_ transfer: Transfer<Value>, for principal: Principal? = nil) {
        let living = state.withLock { state in
            let principal = principal ?? transfer.principal ?? self.principal
            let member = Member(principal: principal) { [weak transfer] in transfer?.cancel }
            state.members.append(member)
            guard state.members.count > state.limit else { return [] }
            let living = state.members.compactMap { $0.cancel() }
            state.members.removeAll { $0.cancel() == nil }
            state.limit = max(16, 2 * state.members.count)
            return living
        }
        // Outside of the lock, since the last reference of a handle may go here, which cancels it.
        withExtendedLifetime(living) {}
    }

    /// Cancels all handles, for a reason that each handle tells; without secrets, since it may be logged.
    public func cancelAll(_ reason: String? = nil) { cancel(reason) { _ in true } }

    /// Cancels the handles of a user.
    public func cancelAll(of principal: Principal, _ reason: String? = nil) { cancel(reason) { $0 == principal } }

    /// Cancels the handles of a user.
    public func signOut(_ principal: Principal) async throws { cancelAll(of: principal, "the user has signed out") }

    private func cancel(_ reason: String?, where isMeant: (Principal?) -> Bool) {
        let cancels = state.withLock { $0.members.filter { isMeant($0.principal) }.compactMap { $0.cancel() } }
        // Outside of the lock, since a cancellation calls handlers.
        for cancel in cancels { cancel(reason) }
    }
}

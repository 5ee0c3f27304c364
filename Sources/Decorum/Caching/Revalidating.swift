import Foundation
import HTTPTypes

extension Connection {
    /// Validates stored responses with the server instead of transferring them again.
    ///
    /// A `GET` or `HEAD` with a response in `store` is sent with `If-None-Match` and `If-Modified-Since`, which carry
    /// the stored `ETag` and `Last-Modified` as they came. A `304 Not Modified` is answered with the stored response,
    /// its fields refreshed by those of the `304`, or with the `304` itself: see ``NotModifiedAnswer``. A stored
    /// `Set-Cookie` is not given again.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .revalidating(in: MemoryResponseStore())
    /// ```
    ///
    /// A `200` with a validator is stored while its body is read, and only once the body was read to its end. It is
    /// stored neither with `Cache-Control: no-store` on either side nor with `Vary: *`. Responses are kept by method,
    /// URI, the fields that `Vary` names, ``RequestOptions/principal``, and the credentials that the request carries:
    /// see ``ResponseKey``. If a layer further in declares that it adds credentials and the request has no principal,
    /// the store is not used. If a layer adds them without declaring it, the response is not stored: see
    /// ``SentRequests``.
    ///
    /// A request with its own precondition, or with `Range`, passes unchanged, and the caller gets its `304`.
    ///
    /// Apply it inside of ``followingRedirects(upTo:policy:clock:)`` and outside of ``retrying(_:clock:generator:)``.
    /// See RFC 9110, section 13.1, and RFC 9111, sections 3.2, 4.1 and 4.3.
    ///
    /// - Parameters:
    ///   - store: The store of the responses.
    ///   - answer: The answer to the caller after a `304`.
    ///   - clock: The clock that dates the stored responses.
    /// - Returns: A connection that transfers stored content again only when it has changed.
    public func revalidating(
        in store: some ResponseStore,
        answering answer: NotModifiedAnswer = .storedResponse,
        clock: any DatedClock = SystemClock()
    ) -> some Connection {
        RevalidatingConnection(base: self, store: store, answer: answer, clock: clock)
    }
}

/// The answer to a caller of ``Connection/revalidating(in:answering:clock:)`` when the server answers `304 Not
/// Modified`.
public enum NotModifiedAnswer: Sendable, Hashable {
    /// The stored response with refreshed fields; its source is ``ResponseMetadata/Source/revalidated``.
    case storedResponse
    /// The `304` itself, with the stored response in ``ResponseMetadata/storedResponse``.
    case notModified
}

extension ResponseMetadata {
    /// The stored response that a `304` has confirmed, with refreshed fields.
    public var storedResponse: StoredResponse? {
        get { self[StoredResponseKey.self] }
        set { self[StoredResponseKey.self] = newValue }
    }
}

private enum StoredResponseKey: ResponseMetadataKey {
    static let defaultValue: StoredResponse? = nil
}

struct RevalidatingConnection<Base: Connection, Store: ResponseStore>: ComposedConnection {
    let base: Base
    let store: Store
    let answer: NotModifiedAnswer
    let clock: any DatedClock
    private let baseAddsCredentials: Bool

    init(base: Base, store: Store, answer: NotModifiedAnswer, clock: any DatedClock) {
        self.base = base
        self.store = store
        self.answer = answer
        self.clock = clock
        baseAddsCredentials = base.addsCredentials
    }

    var layer: Layer {
        Layer(
            name: "revalidating", role: .caching, settings: [.init("answering", answer)],
            facts: [.resends, .changesSignedParts, .readsClock])
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        guard Revalidation.applies(to: request, whenBaseAddsCredentials: baseAddsCredentials),
            let key = ResponseKey(request)
        else { return try await base.send(request) }

        let sent = request.collectSent()
        let head = request.head
        let variants = await store.responses(for: key)
        guard let stored = variants.first(where: { $0.isSelected(by: head) }) else {
            let response = try await base.send(request)
            // A response that cannot be stored only matters if it replaces a stored response.
            guard !variants.isEmpty || Revalidation.mayStore(response.head) else { return response }
            return await storing(response, to: head, sent, for: key)
        }
        let response = try await base.send(Revalidation.validation(of: stored, for: request))
        guard response.status == .notModified else { return await storing(response, to: head, sent, for: key) }
        let attempts = response.metadata.attempts
        if let answer = await confirmed(stored, by: consume response, to: head, sent, for: key) { return answer }

        // The server confirms a response other than the stored one, so the request is sent again without conditions.
        try Task.checkCancellation()
        var complete = await storing(try await base.send(request), to: head, sent, for: key)
        complete.metadata.attempts += attempts
        return complete
    }

    /// Refreshes the response that a `304` confirms and answers with it; if the `304` confirms another response,
    /// removes the stored response and returns nil.
    ///
    /// The `304` is consumed here unless it is the answer, so that its transfer ends.
    private func confirmed(
        _ stored: StoredResponse, by response: consuming Response, to request: HTTPRequest, _ sent: SentRequests,
        for key: ResponseKey
    ) async -> Response? {
        guard let refreshed = Revalidation.refresh(stored, for: request, with: response.head, at: clock.date) else {
            await store.removeResponses(for: key)
            return nil
        }
        if CacheControl(refreshed.head.headerFields).contains("no-store") {
            await store.removeResponses(for: key)
        } else if sent.allowsSharing {
            await store.store(refreshed, for: key)
        }
        return answered(response, with: refreshed)
    }

    private func answered(_ response: Response, with stored: StoredResponse) -> Response {
        var response = response
        switch answer {
        case .notModified:
            response.metadata.storedResponse = stored
        case .storedResponse:
            response.head = stored.head
            response.body = stored.body
            response.metadata.source = .revalidated
        }
        return response
    }

    /// Stores a response if that is allowed, at once or while its body is read.
    private func storing(
        _ response: Response, to request: HTTPRequest, _ sent: SentRequests, for key: ResponseKey
    ) async -> Response {
        guard response.status == .ok, sent.allowsSharing else { return response }
        guard Revalidation.mayStore(response.head) else {
            await store.removeResponses(for: key)
            return response
        }
        var stored = StoredResponse(
            head: StoringRules.storable(response.head), body: response.body, request: request, date: clock.date)
        guard response.body.bytes == nil else {
            if response.body.length ?? 0 <= store.bodyLimit { await store.store(stored, for: key) }
            return response
        }
        guard response.body.length ?? 0 <= store.bodyLimit else { return response }
        stored.body = .empty
        let ticket = store.ticket(for: key)
        guard let writer = await store.writer(for: stored, key: key, with: ticket) else { return response }
        var response = response
        response.body = response.body.stored(BodyStoring(writer: writer, sent: sent))
        return response
    }
}

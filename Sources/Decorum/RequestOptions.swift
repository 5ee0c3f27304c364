public import HTTPTypes

/// A key for an option that is carried with a request through layers that do not know it.
///
/// ```swift
/// enum ExperimentKey: RequestOptionKey {
///     static let defaultValue: String? = nil
/// }
///
/// nonisolated extension RequestOptions {
///     var experiment: String? {
///         get { self[ExperimentKey.self] }
///         set { self[ExperimentKey.self] = newValue }
///     }
/// }
/// ```
///
/// `options[ExperimentKey.self]` works in every module without further declarations. For the property, `nonisolated`
/// matters where the default isolation is the main actor: without it, layers could not read the property.
public protocol RequestOptionKey: SendableMetatype {
    /// The type of the option.
    associatedtype Value: Sendable
    /// The value for a request on which the option was not set.
    static var defaultValue: Value { get }
    /// The requests to which the option goes on from the request on which it was set; the default is all of them.
    static var travels: OptionTravel { get }
}

extension RequestOptionKey {
    /// Every request that comes from the first one.
    public static var travels: OptionTravel { .all }
}

/// The wishes of a caller to the layers that a request passes, and information from one layer to the layers further in.
///
/// Options are never sent. When requests are compared to share a response, only those count whose key says so
/// (``OptionTravel/comparedWhenShared``).
public struct RequestOptions: Sendable {
    @usableFromInline var values = TypedValues()
    // Values that nearly every request reads or sets are kept outside the list, which needs a search or a copy.
    /// The context of the call that the request belongs to; nil if neither the caller nor a layer has set one.
    public var callContext: CallContext?
    var attempt: Int?
    /// The collector to which transports report the requests that they send; nil if no layer needs the reports.
    var sentRequests: SentRequests?

    /// The user on whose behalf the request is made; nil if it is not set.
    ///
    /// Where a layer further in adds credentials and no principal is set, responses are neither shared nor stored.
    /// ``Connection/acting(for:)`` sets it for a whole stack.
    public var principal: Principal?

    /// The fragment of the URL, which is never sent but inherited by redirections (RFC 9110, section 10.2.2).
    public var fragment: String?

    /// The fields of this request that hold secrets, in addition to the well-known ones.
    ///
    /// A layer that adds such a field names it here, so that a redirection to another origin drops it, and no log or
    /// recording shows it.
    public var secretFields: Set<HTTPField.Name> = []

    /// Creates options with default values.
    public init() {}

    /// Creates options from the values that have keys.
    init(_ values: TypedValues) {
        self.values = values
    }

    /// The option of a key.
    public subscript<Key: RequestOptionKey>(_ key: Key.Type) -> Key.Value {
        @inlinable get { values.value(for: key, as: Key.Value.self) ?? Key.defaultValue }
        @inlinable set { values.set(newValue, for: key, travelling: key.travels) }
    }

    /// The options that go on to another request, such as that to which a server redirects.
    ///
    /// - Parameter travel: The kind of the other request.
    /// - Returns: The options whose keys travel to all of these kinds.
    public func travelling(_ travel: OptionTravel) -> RequestOptions {
        var options = self
        options.values.travel(travel)
        if !OptionTravel.call.isSuperset(of: travel) {
            options.callContext = nil
            options.attempt = nil
        }
        return options
    }
}

extension RequestOptions {
    /// A name for the purpose of the request out of a small set, such as `"feed"` or `"items/{id}"`, for logs, errors and
    /// analytics.
    ///
    /// `pacing` also holds only the requests with the same name back after a 429 or a used rate limit, unless
    /// ``PacingPolicy/separatesRoutes`` is false.
    ///
    /// Set it where the request is created. A path is no substitute: it holds identifiers, which are too many and may
    /// be private.
    public var routeName: String? {
        get { self[RouteNameKey.self] }
        set { self[RouteNameKey.self] = newValue }
    }

    /// The longest time without a byte sent or received before a transfer fails, from the first byte asked for to the
    /// last byte read.
    ///
    /// Every byte sent or received restarts the time. Nil means the transport's default of 60 seconds; no transport
    /// waits without a limit. Only a slow server counts. A slow reader of the body does not count. Until the head of
    /// the response arrives, request content that is not yet produced does not count either.
    public var idleTimeout: Duration? {
        get { self[IdleTimeoutKey.self] }
        set { self[IdleTimeoutKey.self] = newValue }
    }

    /// The instant at which the exchange fails unless the head of its response has arrived; nil for no such limit.
    ///
    /// A transport ends the exchange then with ``TransportError/Code/deadlineExceeded``, and sends nothing when the instant
    /// has passed already. The time counts everything: the wait for a connection, and the content of the request, however
    /// slowly it is made. A layer that would wait past the instant gives up at once with the outcome that it has; it asks
    /// ``timeLeft(at:)``, which counts for a shared request too. The instant is one of the clock that the layers and the
    /// transport have. ``bodyDeadline`` limits the time of the
    /// response's body. ``Connection/limitingTime(_:clock:)`` sets both for all requests of a stack.
    public var deadline: ContinuousClock.Instant? {
        get { self[DeadlineKey.self] }
        set { self[DeadlineKey.self] = newValue }
    }

    /// The time for which a layer may still wait: until the ``deadline``, and zero once it has passed; nil without one.
    ///
    /// A request that `coalescing` or a cache sends for several callers has no deadline of its own, since each caller
    /// stops waiting at its own deadline. For such a request, the latest of these deadlines counts. If one caller has
    /// no deadline, the result is nil.
    ///
    /// - Parameter now: The current instant.
    /// - Returns: The time.
    public func timeLeft(at now: ContinuousClock.Instant) -> Duration? {
        lastDeadline.map { max(.zero, now.duration(to: $0)) }
    }

    /// The instant at which the body of the response fails unless it has arrived whole; nil for no such limit.
    ///
    /// Without it, a body is bounded by ``idleTimeout`` alone, so that event streams and downloads go on. It also counts
    /// while the reader is slow, since the reader then holds the server back. A request whose head has not arrived by then
    /// fails too.
    public var bodyDeadline: ContinuousClock.Instant? {
        get { self[BodyDeadlineKey.self] }
        set { self[BodyDeadlineKey.self] = newValue }
    }

    /// The priority of the request among others at the same time; nil if the caller has no wish.
    ///
    /// A transport may ignore it, and no request fails because of it. ``URLSessionConnection`` gives it to the task of
    /// the request, which Foundation on Linux ignores. `CurlConnection` sends it over HTTP/2 as the weight of the
    /// stream (RFC 7540, section 5.3); many servers ignore weights, since RFC 9113 advises against them.
    /// `AsyncHTTPClientConnection` has no place for it. No transport adds the field `Priority` (RFC 9218), since a
    /// transport sends the fields that it is given: set the field yourself for a server that heeds it.
    public var priority: TaskPriority? {
        get { self[PriorityKey.self] }
        set { self[PriorityKey.self] = newValue }
    }

    /// The origins that have redirected the request so far; empty for a request that was not redirected.
    ///
    /// A layer that adds credentials adds them only when they are meant for each of these origins.
    public var redirectingOrigins: Set<Origin> {
        get { self[RedirectingOriginsKey.self] }
        set { self[RedirectingOriginsKey.self] = newValue }
    }

    /// The names of the items in the query of this request whose values are secret, in addition to the well-known ones.
    ///
    /// A layer that adds such an item, such as a signature, names it here, so that no log, no recording and no description
    /// of the request shows its value. Names are compared without regard to their spelling, as in ``SecretNames``.
    public var secretQueryItems: Set<String> {
        get { self[SecretQueryItemsKey.self] }
        set { self[SecretQueryItemsKey.self] = newValue }
    }

    /// Adds names to ``secretFields``; when there are no names yet, takes the set as it is, without a copy.
    ///
    /// - Parameter fields: The names of the fields.
    public mutating func declareSecret(_ fields: Set<HTTPField.Name>) {
        if secretFields.isEmpty {
            secretFields = fields
        } else if !fields.isSubset(of: secretFields) {
            secretFields.formUnion(fields)
        }
    }
}

extension RequestOptions {
    /// The names of the keys that have a value.
    var keyNames: [String] { values.keyNames }
}

private enum RouteNameKey: RequestOptionKey {
    static let defaultValue: String? = nil
    static let travels = OptionTravel.all
}

private enum IdleTimeoutKey: RequestOptionKey {
    static let defaultValue: Duration? = nil
    // A caller must not wait for longer than for a request of the caller's own.
    static let travels: OptionTravel = [.call, .comparedWhenShared]
}

private enum DeadlineKey: RequestOptionKey {
    static let defaultValue: ContinuousClock.Instant? = nil
    static let travels = OptionTravel.call
}

private enum BodyDeadlineKey: RequestOptionKey {
    static let defaultValue: ContinuousClock.Instant? = nil
    static let travels = OptionTravel.call
}

private enum PriorityKey: RequestOptionKey {
    static let defaultValue: TaskPriority? = nil
    static let travels = OptionTravel.call
}

private enum SecretQueryItemsKey: RequestOptionKey {
    static let defaultValue: Set<String> = []
    static let travels = OptionTravel.all
}

private enum RedirectingOriginsKey: RequestOptionKey {
    static let defaultValue: Set<Origin> = []
    static let travels = OptionTravel.all
}

extension RequestOptions: SecretHolder {
    /// The values of the options that cannot hold a secret, and the names of all others that are set.
    public var description: String { "options" + (facts.isEmpty ? "" : ": " + facts.joined(separator: ", ")) }

    private var facts: [String] {
        var facts: [String] = []
        if let routeName { facts.append("route name \(Redaction.standard.applied(toText: routeName))") }
        if let idleTimeout { facts.append("idle timeout \(idleTimeout)") }
        if principal != nil { facts.append("principal") }
        if !secretFields.isEmpty {
            facts.append("secret fields " + secretFields.map(\.rawName).sorted().joined(separator: " "))
        }
        if let attemptNumber { facts.append("attempt \(attemptNumber)") }
        if fragment != nil { facts.append("fragment") }
        return facts + keyNames
    }
}

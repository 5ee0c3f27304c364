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
    /// The number of this attempt within its call, from 1; nil if no layer observes attempts.
    public internal(set) var attemptNumber: Int?
    /// The collector to which transports report the requests that they send; nil if no layer needs the reports.
    var sentRequests: SentRequests?

    /// A name for the purpose of the request out of a small set, such as `"feed"` or `"items/{id}"`, for logs, errors and
    /// analytics.
    ///
    /// `pacing` also holds only the requests with the same name back after a 429 or a used rate limit, unless
    /// ``PacingPolicy/separatesRoutes`` is false. A path is no substitute, since it holds identifiers.
    public var routeName: String?

    /// The user on whose behalf the request is made; nil if it is not set.
    ///
    /// Without it, responses to requests with credentials are neither shared nor stored. ``Connection/acting(for:)`` sets it
    /// for a whole stack.
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

    /// Creates options from the values that have keys, and the name of a route.
    init(_ values: TypedValues, routeName: String?) {
        (self.values, self.routeName) = (values, routeName)
    }

    /// The option of a key.
    public subscript<Key: RequestOptionKey>(_ key: Key.Type) -> Key.Value {
        @inlinable get {
            values.entries.isEmpty
                ? Key.defaultValue : values.value(for: key, as: Key.Value.self) ?? Key.defaultValue
        }
        @inlinable set { values.set(newValue, for: key, travelling: key.travels) }
    }

    /// The options that go on to another request, such as that to which a server redirects: their keys travel to all of
    /// its kinds.
    package func travelling(_ travel: OptionTravel) -> RequestOptions {
        var options = self
        options.values.travel(travel)
        if !OptionTravel.call.isSuperset(of: travel) {
            options.callContext = nil
            options.attemptNumber = nil
        }
        return options
    }
}

extension RequestOptions {
    /// The longest time without a byte sent or received before a transfer fails, from the first byte asked for to the
    /// last byte read.
    ///
    /// Nil means the transport's default of 60 seconds; no transport waits without a limit. Only a slow server counts: a
    /// slow reader of the body does not, nor does request content that is not yet produced before the head arrives.
    public var idleTimeout: Duration? {
        get { self[IdleTimeoutKey.self] }
        set { self[IdleTimeoutKey.self] = newValue }
    }

    /// The instant at which the exchange fails unless the head of its response has arrived; nil for no such limit.
    ///
    /// A transport ends the exchange then with ``TransportError/Code/deadlineExceeded``, and sends nothing after it. A layer
    /// that would wait past the instant gives up at once with the outcome that it has; it asks ``timeLeft(at:)``. The
    /// instant is one of the clock of the layers and the transport. ``Connection/limitingTime(_:clock:)`` sets it, and
    /// ``bodyDeadline``, for all requests of a stack.
    public var deadline: ContinuousClock.Instant? {
        get { self[DeadlineKey.self] }
        set { self[DeadlineKey.self] = newValue }
    }

    /// The time for which a layer may still wait: until the ``deadline``, and zero once it has passed; nil without one.
    ///
    /// For a request that `coalescing` or a cache sends for several callers, the latest of their deadlines counts.
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
    /// A transport may ignore it. ``URLSessionConnection`` gives it to the task of the request, which Foundation on Linux
    /// ignores, and `CurlConnection` sends it over HTTP/2 as the weight of the stream (RFC 7540, section 5.3). No transport
    /// adds the field `Priority` (RFC 9218): set it yourself for a server that heeds it.
    public var priority: TaskPriority? {
        get { self[PriorityKey.self] }
        set { self[PriorityKey.self] = newValue }
    }

    /// The origins that have redirected the request so far; empty for a request that was not redirected.
    ///
    /// A layer that adds credentials adds them only when they are meant for each of these origins.
    package var redirectingOrigins: Set<Origin> {
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
    package mutating func declareSecret(_ fields: Set<HTTPField.Name>) {
        if secretFields.isEmpty {
            secretFields = fields
        } else if !fields.isSubset(of: secretFields) {
            secretFields.formUnion(fields)
        }
    }
}

/// A key of an option that goes on to the requests of the same call.
protocol CallOptionKey: RequestOptionKey {}

extension CallOptionKey {
    static var travels: OptionTravel { .call }
}

private enum IdleTimeoutKey: RequestOptionKey {
    static let defaultValue: Duration? = nil
    // A caller must not wait for longer than for a request of the caller's own.
    static let travels: OptionTravel = [.call, .comparedWhenShared]
}
private enum DeadlineKey: CallOptionKey { static let defaultValue: ContinuousClock.Instant? = nil }
private enum BodyDeadlineKey: CallOptionKey { static let defaultValue: ContinuousClock.Instant? = nil }
private enum PriorityKey: CallOptionKey { static let defaultValue: TaskPriority? = nil }
private enum SecretQueryItemsKey: RequestOptionKey { static let defaultValue: Set<String> = [] }
private enum RedirectingOriginsKey: RequestOptionKey { static let defaultValue: Set<Origin> = [] }
private enum WaitingCallersKey: CallOptionKey { static let defaultValue: (any WaitingCallers)? = nil }

extension RequestOptions: SecretHolder {
    /// The values of the options that cannot hold a secret, and the names of all others that are set.
    public var description: String {
        var facts: [String] = []
        if let routeName { facts.append("route name \(Redaction.standard.applied(toText: routeName))") }
        if let idleTimeout { facts.append("idle timeout \(idleTimeout)") }
        if principal != nil { facts.append("principal") }
        if !secretFields.isEmpty {
            facts.append("secret fields " + secretFields.map(\.rawName).sorted().joined(separator: " "))
        }
        if let attemptNumber { facts.append("attempt \(attemptNumber)") }
        if fragment != nil { facts.append("fragment") }
        facts += values.keyNames
        return "options" + (facts.isEmpty ? "" : ": " + facts.joined(separator: ", "))
    }
}

/// The requests to which an option goes on from the request on which it was set.
///
/// An option that describes the wish of one caller, such as ``RequestOptions/deadline``, must not decide about a request
/// that other callers wait for. An option that says on whose behalf a request is made, such as
/// ``RequestOptions/principal``, goes on to each of them.
///
/// ```swift
/// enum TraceKey: RequestOptionKey {
///     static let defaultValue: String? = nil
///     static let travels: OptionTravel = [.redirections, .attempts]
/// }
/// ```
public struct OptionTravel: OptionSet, Sendable, Hashable {
    /// One bit for each kind of request.
    public let rawValue: UInt8

    /// Creates a set from its bits.
    ///
    /// - Parameter rawValue: One bit for each kind of request.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// A request to which a server redirects.
    public static let redirections = OptionTravel(rawValue: 1)
    /// Another attempt of the same request.
    public static let attempts = OptionTravel(rawValue: 2)
    /// A request that is sent for several callers, as `coalescing` and a cache do it.
    public static let sharedRequests = OptionTravel(rawValue: 4)
    /// A request for which no caller waits, such as a validation in the background.
    public static let backgroundRequests = OptionTravel(rawValue: 8)
    /// Only requests with equal values of the option share a response; the shared request has the option too.
    ///
    /// An option that decides how a request is sent has this in addition to the kinds of requests to which it goes on. Its
    /// type has to be `Equatable`; requests with values that cannot be compared share nothing.
    public static let comparedWhenShared = OptionTravel(rawValue: 16)

    /// Every request that comes from the first one.
    public static let all: OptionTravel = [.redirections, .attempts, .sharedRequests, .backgroundRequests]
    /// The requests that belong to the same call.
    public static let call: OptionTravel = [.redirections, .attempts]
}

/// The callers who wait for a request that is sent for all of them, each with a deadline of its own.
protocol WaitingCallers: AnyObject, Sendable {
    /// The latest deadline of the callers; nil if one of them has none.
    var lastDeadline: ContinuousClock.Instant? { get }

    /// Tells the number of attempts that have ended, since the request is sent again.
    func note(attempts: Int)
}

extension RequestOptions {
    /// The callers who wait for the request; nil if it is sent for one caller.
    var waitingCallers: (any WaitingCallers)? {
        get { self[WaitingCallersKey.self] }
        set { self[WaitingCallersKey.self] = newValue }
    }

    /// Whether the wait for the response, or the reading of its body, may end before the transfer does.
    var limitsWait: Bool {
        !values.isEmpty && (deadline != nil || bodyDeadline != nil || waitingCallers != nil)
    }

    /// The instant after which no caller waits for the request; nil without such an instant.
    ///
    /// It moves to a later one when a caller with a later deadline joins. So it is for the decision whether to wait, and
    /// not for the end of an exchange.
    var lastDeadline: ContinuousClock.Instant? {
        guard let shared = waitingCallers?.lastDeadline else { return deadline }
        return deadline.map { min($0, shared) } ?? shared
    }
}

/// Values of any type, one for each key type; the storage of request options and response metadata.
@usableFromInline struct TypedValues: Sendable {
    // A request has only a few values, so a scan is faster than a dictionary, and an empty array allocates nothing.
    @usableFromInline var entries: [Entry] = []

    @usableFromInline struct Entry: Sendable {
        @usableFromInline let key: Any.Type
        @usableFromInline let travel: OptionTravel
        @usableFromInline var value: any Sendable

        @usableFromInline init(key: Any.Type, travel: OptionTravel, value: any Sendable) {
            self.key = key
            self.travel = travel
            self.value = value
        }
    }

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }

    // Inlinable, since a module that reads an option of its own would otherwise look up its type each time.
    @inlinable func value<Value: Sendable>(for key: Any.Type, as type: Value.Type) -> Value? {
        guard let index = index(of: key) else { return nil }
        return entries[index].value as? Value
    }

    @inlinable mutating func set(_ value: any Sendable, for key: Any.Type, travelling travel: OptionTravel = .all) {
        set(Entry(key: key, travel: travel, value: value))
    }

    @inline(never) @usableFromInline mutating func set(_ entry: Entry) {
        if let index = index(of: entry.key) {
            entries[index].value = entry.value
        } else {
            // A request with one value mostly has several.
            if entries.isEmpty { entries.reserveCapacity(4) }
            entries.append(entry)
        }
    }

    /// Leaves out the values that do not travel to all kinds of a set of requests.
    mutating func travel(_ travel: OptionTravel) {
        guard entries.contains(where: { !$0.travel.isSuperset(of: travel) }) else { return }
        entries.removeAll { !$0.travel.isSuperset(of: travel) }
    }

    /// Leaves out the values that do not travel to a request that is sent for several callers; a value that all of them
    /// share stays.
    mutating func travelToSharedRequest() {
        let kept: OptionTravel = [.sharedRequests, .comparedWhenShared]
        guard entries.contains(where: { $0.travel.isDisjoint(with: kept) }) else { return }
        entries.removeAll { $0.travel.isDisjoint(with: kept) }
    }

    /// Whether the values whose keys travel in a way are equal in both.
    func areSame(as other: TypedValues, travelling travel: OptionTravel) -> Bool {
        (entries + other.entries).allSatisfy { entry in
            guard entry.travel.isSuperset(of: travel) else { return true }
            return (entry.key as? any RequestOptionKey.Type)?.isSame(in: self, and: other) ?? false
        }
    }

    /// The names of the types of the keys that have a value, in the order in which they were set.
    var keyNames: [String] { entries.map { String(describing: $0.key) } }

    // A loop, because `firstIndex(where:)` copies each entry that it passes to its closure.
    @usableFromInline func index(of key: Any.Type) -> Int? {
        for index in entries.indices where entries[index].key == key { return index }
        return nil
    }
}

extension RequestOptionKey {
    fileprivate static func isSame(in one: TypedValues, and other: TypedValues) -> Bool {
        let values = [one, other].map { $0.value(for: self, as: Value.self) ?? defaultValue }
        return (Value.self as? any Equatable.Type)?.areEqual(values[0], values[1]) ?? false
    }
}

extension Equatable {
    fileprivate static func areEqual(_ one: Any, _ other: Any) -> Bool { one as? Self == other as? Self }
}

/// A change of the options of a request, which is equal to itself alone.
final class OptionsChange: Sendable, Equatable {
    let apply: @Sendable (_ options: inout RequestOptions) -> Void

    init(_ apply: @escaping @Sendable (_ options: inout RequestOptions) -> Void) { self.apply = apply }

    static func == (left: OptionsChange, right: OptionsChange) -> Bool { left === right }
}

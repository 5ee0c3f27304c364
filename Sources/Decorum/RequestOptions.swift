public import HTTPTypes

/// A key for an option that travels with a request through layers that do not know it.
///
/// ```swift
/// enum ExperimentKey: RequestOptionKey {
///     static let defaultValue: String? = nil
/// }
///
/// extension RequestOptions {
///     var experiment: String? {
///         get { self[ExperimentKey.self] }
///         set { self[ExperimentKey.self] = newValue }
///     }
/// }
/// ```
///
/// In a module whose default isolation is the main actor, declare the property `nonisolated`, so that layers can read it.
public protocol RequestOptionKey: SendableMetatype {
    /// The type of the option.
    associatedtype Value: Sendable
    /// What a request has that was not given the option.
    static var defaultValue: Value { get }
}

/// What a caller wants of the layers that a request passes, and what one layer tells those further in.
///
/// Options are never sent. They do not count when two requests are compared.
public struct RequestOptions: Sendable {
    private var values = TypedValues()
    // What is asked for or set with nearly every request is kept beside the list, which takes a search or a copy.
    var callContext: CallContext?
    var attempt: Int?
    /// Where transports report what they send for the request; nil where no layer asked.
    var sentRequests: SentRequests?

    /// On whose behalf the request is made; nil where nobody said.
    ///
    /// Where a layer further in adds credentials and no principal is set, responses are neither shared nor stored.
    public var principal: Principal?

    /// The fields of this request that hold secrets beyond the well-known ones.
    ///
    /// A layer that adds such a field names it here, so that a redirection to another origin drops it
    /// and nothing that writes requests down shows it.
    public var secretFields: Set<HTTPField.Name> = []

    /// Creates options that are all at their defaults.
    public init() {}

    /// The option of a key.
    public subscript<Key: RequestOptionKey>(_ key: Key.Type) -> Key.Value {
        get { values.value(for: key, as: Key.Value.self) ?? Key.defaultValue }
        set { values.set(newValue, for: key) }
    }
}

extension RequestOptions {
    /// The fragment of the URL, which is never sent but inherited by redirections (RFC 9110, section 10.2.2).
    public var fragment: String? {
        get { self[FragmentKey.self] }
        set { self[FragmentKey.self] = newValue }
    }

    /// A bounded name for what the request does, such as `"feed"` or `"items/{id}"`, for logs and analytics.
    ///
    /// Set it where the request is made: a path holds identifiers, which make too many names and may be private.
    public var routeName: String? {
        get { self[RouteNameKey.self] }
        set { self[RouteNameKey.self] = newValue }
    }

    /// How long a transfer may stand still before it fails, from the first byte asked for to the last one read.
    ///
    /// Every byte sent or received starts the time anew. Nil stands for the transport's own default, which is
    /// 60 seconds; no transport waits for ever. A slow reader does not count, nor, up to the head of the response, content
    /// of the request that is still to be made; only a server that is slow does.
    public var idleTimeout: Duration? {
        get { self[IdleTimeoutKey.self] }
        set { self[IdleTimeoutKey.self] = newValue }
    }

    /// The origins that have redirected the request so far; empty for one that goes where its caller sent it.
    ///
    /// A layer that adds credentials adds none where an origin among these is not one that they were given for.
    public var redirectingOrigins: Set<Origin> {
        get { self[RedirectingOriginsKey.self] }
        set { self[RedirectingOriginsKey.self] = newValue }
    }

    /// Adds names of secret fields, without making a set where there was none.
    mutating func declareSecret(_ fields: Set<HTTPField.Name>) {
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

private enum FragmentKey: RequestOptionKey {
    static let defaultValue: String? = nil
}

private enum RouteNameKey: RequestOptionKey {
    static let defaultValue: String? = nil
}

private enum IdleTimeoutKey: RequestOptionKey {
    static let defaultValue: Duration? = nil
}

private enum RedirectingOriginsKey: RequestOptionKey {
    static let defaultValue: Set<Origin> = []
}

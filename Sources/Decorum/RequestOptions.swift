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

    /// Creates options that are all at their defaults.
    public init() {}

    /// The option of a key.
    public subscript<Key: RequestOptionKey>(_ key: Key.Type) -> Key.Value {
        get { values.value(for: key, as: Key.Value.self) ?? Key.defaultValue }
        set { values.set(newValue, for: key) }
    }
}

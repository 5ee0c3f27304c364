public import Foundation

/// An error whose description may be logged, because it never holds a secret.
///
/// For any other error, logs and events show only the name of its type: its description may quote a URL. Conform your
/// own errors to this protocol to show their descriptions. `localizedDescription` is the description too.
public protocol DescribableError: LocalizedError, CustomStringConvertible {
    /// A name out of a small number, suitable for a metric; by default, the name of the type.
    var shortDescription: String { get }
}

extension DescribableError {
    /// The name of the type.
    public var shortDescription: String { String(describing: Self.self) }

    /// The description.
    public var errorDescription: String? { description }
}

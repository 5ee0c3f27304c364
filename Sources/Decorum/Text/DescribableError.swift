public import Foundation

/// An error whose description may be written down, because it never holds a secret.
///
/// Of any other error, logs and events show the name of its type alone: a description made elsewhere may quote a URL.
/// Conform an error of your own to have it shown. Its `localizedDescription` is the description too.
public protocol DescribableError: LocalizedError, CustomStringConvertible {
    /// A name out of a small number, fit for a metric; the name of the type unless you say otherwise.
    var shortDescription: String { get }
}

extension DescribableError {
    /// The name of the type.
    public var shortDescription: String { String(describing: Self.self) }

    /// The description.
    public var errorDescription: String? { description }
}

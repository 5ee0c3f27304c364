/// The tool that wrote a file, and the version of its format.
public struct ImportedFormat: Sendable, Hashable, CustomStringConvertible {
    /// The name of the format.
    public let description: String

    /// Creates the name of a format.
    ///
    /// - Parameter description: The name.
    public init(_ description: String) {
        self.description = description
    }
}

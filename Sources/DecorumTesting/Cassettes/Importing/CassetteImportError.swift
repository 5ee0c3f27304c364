/// A file of another tool cannot be imported.
public struct CassetteImportError: Error, Sendable, Hashable {
    /// The name of the file.
    public let file: String
    /// The place of the cause: a JSON path, a line, or both; nil for the whole file.
    public let place: String?
    /// The cause, as a clause.
    public let reason: String
}

extension CassetteImportError: CustomStringConvertible {
    /// A sentence with the file, the place and the cause.
    public var description: String {
        "\(file) cannot be imported" + (place.map { " (\($0))" } ?? "") + ": \(reason)."
    }
}

/// A file cannot be imported; thrown while its name is not known yet.
struct ImportFault: Error {
    let place: String?
    let reason: String
}

/// Why a file of another tool cannot be imported.
public struct CassetteImportError: Error, Sendable, Hashable {
    /// The name of the file.
    public let file: String
    /// Where in it the cause is: a JSON path, a line, or both; nil where it is the file as a whole.
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

/// Why a file cannot be imported, before its name is known.
struct ImportFault: Error {
    let place: String?
    let reason: String
}

/// A file of another tool cannot be imported.
public struct CassetteImportError: Error, Sendable, Hashable {
    /// The name of the file; empty in the reader of a format, which does not know it.
    public private(set) var file = ""
    /// The place of the cause: a JSON path, a line, or both; nil for the whole file.
    public let place: String?
    /// The line of the cause, counted from 1; nil if it is not known.
    public let line: Int?
    /// The cause, as a clause.
    public let reason: String

    /// Creates an error of the reader of a format.
    ///
    /// - Parameters:
    ///   - place: The place of the cause; nil for the line, or for the whole file without one.
    ///   - line: The line of the cause, counted from 1.
    ///   - reason: The cause, as a clause without a secret.
    public init(place: String? = nil, line: Int? = nil, reason: String) {
        self.place = place ?? line.map { "line \($0)" }
        self.line = line
        self.reason = reason
    }

    func of(_ file: String) -> Self {
        var error = self
        error.file = file
        return error
    }
}

extension CassetteImportError: CustomStringConvertible {
    /// A sentence with the file, the place and the cause.
    public var description: String {
        "\(file) cannot be imported" + (place.map { " (\($0))" } ?? "") + ": \(reason)."
    }
}

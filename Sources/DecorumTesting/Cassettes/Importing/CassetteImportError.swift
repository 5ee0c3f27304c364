/// A file of another tool cannot be imported.
public struct CassetteImportError: Error, Sendable, Hashable {
    /// The name of the file.
    public let file: String
    /// The place of the cause: a JSON path, a line, or both; nil for the whole file.
    public let place: String?
    /// The line of the cause, counted from 1; nil if it is not known.
    public let line: Int?
    /// The cause, as a clause.
    public let reason: String

    init(file: String, place: ImportPlace? = nil, reason: String) {
        self.file = file
        self.place = place?.description
        line = place?.line
        self.reason = reason
    }

    init(_ fault: ImportFault, in file: String) {
        self.file = file
        place = fault.place
        line = fault.line
        reason = fault.reason
    }
}

extension CassetteImportError: CustomStringConvertible {
    /// A sentence with the file, the place and the cause.
    public var description: String {
        "\(file) cannot be imported" + (place.map { " (\($0))" } ?? "") + ": \(reason)."
    }
}

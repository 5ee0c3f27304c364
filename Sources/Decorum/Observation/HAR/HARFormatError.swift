/// Why a document is not an archive that can be read.
public struct HARFormatError: Error, Sendable, Hashable {
    /// What is wrong.
    public let reason: String
    /// The JSON path at which it is wrong; nil where the document is not JSON.
    public let path: String?
    /// The line on which it is not JSON; nil where it is.
    public let line: Int?

    package init(reason: String, path: String?, line: Int? = nil) {
        self.reason = reason
        self.path = path
        self.line = line
    }
}

extension HARFormatError: CustomStringConvertible {
    /// A sentence with the place and the reason.
    public var description: String {
        let place = [path, line.map { "line \($0)" }].compactMap(\.self).joined(separator: ", ")
        return "The HTTP archive cannot be read at \(place): \(reason)."
    }
}

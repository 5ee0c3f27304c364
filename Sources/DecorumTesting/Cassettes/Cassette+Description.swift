import Foundation

extension Cassette: CustomStringConvertible, CustomReflectable {
    /// The name of the file, and what the cassette does with a request.
    public var description: String { "cassette \(file.lastPathComponent), \(mode.rawValue)" }

    /// A mirror with the description alone: an exchange that is under way is not redacted yet.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

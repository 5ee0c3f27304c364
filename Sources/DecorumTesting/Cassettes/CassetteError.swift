public import Decorum
import Foundation

/// A cassette cannot be read, written or used.
///
/// It names the file, the place within it and the cause, but never the content of the cassette.
public struct CassetteError: Error, Hashable, Sendable {
    /// The path of the cassette, or of the file that it names.
    public let file: String
    /// The place in the file, such as `line 12` or `interactions[3].request`; empty for the whole file.
    public let place: String
    /// The cause, as a sentence without its full stop.
    public let reason: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - file: The path of the file.
    ///   - place: The place in the file.
    ///   - reason: The cause, as a sentence without its full stop.
    public init(file: String, place: String = "", reason: String) {
        self.file = file
        self.place = place
        self.reason = reason
    }
}

extension CassetteError: DescribableError {
    /// The file, the place and the cause.
    public var description: String {
        "The cassette \(file)\(place.isEmpty ? "" : ", \(place),") cannot be used: \(reason)."
    }
}

public import Decorum
import Foundation

/// A cassette cannot be read, written or used.
///
/// It names the file, the place within it, and the cause; never what the cassette holds.
public struct CassetteError: Error, Hashable, Sendable {
    /// The path of the cassette, or of the file that it names.
    public let file: String
    /// Where in the file, such as `line 12` or `interactions[3].request`; empty where it is the whole of it.
    public let place: String
    /// The cause, as a sentence without its full stop.
    public let reason: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - file: The path of the file.
    ///   - place: Where in the file.
    ///   - reason: What is wrong, as a sentence without its full stop.
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

import Decorum
public import Foundation

extension ResponseReading where Value == String {
    /// Reads text in its charset, as `text(upTo:repairing:)` of the response does.
    public static var text: Self {
        Self { content in try await content.response.text(upTo: .max) }
    }
}

extension ResponseReading where Value == URL {
    /// Writes the content to a file, which appears only when it is complete; the value is its URL.
    ///
    /// - Parameters:
    ///   - file: The URL of the file, which is replaced where it is there.
    ///   - limit: The largest number of bytes to accept; the limit of the API is for content in memory.
    /// - Returns: The reading.
    public static func file(_ file: URL, upTo limit: Int64) -> Self {
        Self { response, _ in
            try await response.save(to: file, upTo: limit)
            return file
        }
    }

    /// Writes the content to a new file in a folder, under a safe form of the name that the server suggests; the value is
    /// its URL.
    ///
    /// - Parameters:
    ///   - folder: The URL of a folder that exists.
    ///   - limit: The largest number of bytes to accept; the limit of the API is for content in memory.
    /// - Returns: The reading.
    public static func file(in folder: URL, upTo limit: Int64) -> Self {
        Self { response, _ in try await response.save(in: folder, upTo: limit) }
    }
}

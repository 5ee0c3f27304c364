import Foundation

/// The identity of a version of a file, by which a change is noticed without reading the file.
///
/// Cassettes are replaced as a whole, so each version is another file with another number.
struct FileStamp: Hashable, Sendable {
    private let number: Int
    private let size: Int
    private let date: Date?

    /// The stamp of a file; nil if there is none.
    init?(of file: URL) {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: file.path) else { return nil }
        number = (attributes[.systemFileNumber] as? NSNumber)?.intValue ?? 0
        size = (attributes[.size] as? NSNumber)?.intValue ?? 0
        date = attributes[.modificationDate] as? Date
    }
}

/// The bounds of reading a file that another tool wrote, against a few bytes that would take the memory or the time of a
/// whole test run.
public struct ImportLimits: Sendable, Hashable {
    /// The largest number of bytes of the file, also after its own decompression; 256 MiB by default.
    public var fileLength: Int
    /// The largest number of bytes, all contents of the file together, that undoing content codings, unpacking a zip
    /// archive, reading files beside it and repeating texts by aliases may yield; 512 MiB by default.
    ///
    /// Each attempt counts as at least 4 KiB, also if its result is not used, so the limit bounds the time too.
    public var contentLength: Int
    /// The largest number of values in the document, counted as often as aliases repeat them; 4 million by default.
    public var valueCount: Int
    /// The largest number of fields of one message; 1,000 by default, and never more than 10,000.
    public var fieldCount: Int

    /// Creates limits.
    public init(
        fileLength: Int = 256 << 20, contentLength: Int = 512 << 20, valueCount: Int = 4_000_000,
        fieldCount: Int = 1000
    ) {
        self.fileLength = fileLength
        self.contentLength = contentLength
        self.valueCount = valueCount
        self.fieldCount = fieldCount
    }

    /// The default limits.
    public static let standard = ImportLimits()
}

/// The part of the limits of a file that its reading has left.
package struct ImportBudget: Sendable {
    package let limits: ImportLimits
    private var length: Int
    /// The number of values that may still be read.
    package private(set) var count: Int

    package init(_ limits: ImportLimits = .standard) {
        self.limits = limits
        length = limits.contentLength
        count = limits.valueCount
    }

    /// Counts bytes that came from an encoding, or from another file.
    package mutating func spend(bytes: Int) throws(CassetteImportError) {
        guard bytes <= length else {
            let limit = limits.contentLength
            throw CassetteImportError(
                reason: "its contents have more than \(limit) bytes once their encodings are undone")
        }
        length -= bytes
    }

    package mutating func spend(values: Int) throws(CassetteImportError) {
        guard values <= count else { throw CassetteImportError(reason: "it has too many values") }
        count -= values
    }

    /// Throws if a message already has as many fields as it may have.
    func checkField(after count: Int) throws(CassetteImportError) {
        // HTTPTypes ends the process at 65,535 fields.
        let limit = min(limits.fieldCount, 10_000)
        guard count < limit else { throw CassetteImportError(reason: "a message has more than \(limit) fields") }
    }
}

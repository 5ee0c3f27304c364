/// The bounds of reading a file that another tool wrote, against a few bytes that would take the memory or the time of a
/// whole test run.
public struct ImportLimits: Sendable, Hashable {
    /// The largest number of bytes of the file, also after its own decompression; 256 MiB by default.
    public var fileLength: Int
    /// The largest number of bytes, all contents of the file together, that undoing content codings, unpacking a zip
    /// archive and reading files beside it may yield; 512 MiB by default.
    ///
    /// Each attempt counts as at least 4 KiB, also if its result is not used, so the limit bounds the time too.
    public var contentLength: Int
    /// The largest number of values in the document, counted as often as aliases repeat them; 4 million by default.
    public var valueCount: Int
    /// The largest number of fields of one message; 1,000 by default, and never more than 10,000.
    public var fieldCount: Int

    /// Creates limits.
    ///
    /// - Parameters:
    ///   - fileLength: The largest number of bytes of the file.
    ///   - contentLength: The largest number of bytes that undoing the encodings of all contents may yield.
    ///   - valueCount: The largest number of values in the document.
    ///   - fieldCount: The largest number of fields of one message.
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

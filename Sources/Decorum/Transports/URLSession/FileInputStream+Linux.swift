#if canImport(FoundationNetworking)
import Foundation

/// A stream over the first bytes of a file, which are always there when they are asked for.
///
/// It is used by one task alone, on the session's queue.
final class FileInputStream: InputStream {
    private let file: SpoolFile
    private let length: Int64
    private let fail: @Sendable (any Error) -> Void
    private var offset: Int64 = 0
    private var status = Status.notOpen

    /// Creates a stream.
    ///
    /// - Parameters:
    ///   - file: The file, of which nobody changes what is read here.
    ///   - length: The number of bytes to read.
    ///   - fail: Is told what keeps the bytes from being read.
    init(_ file: SpoolFile, length: Int64, fail: @escaping @Sendable (any Error) -> Void) {
        self.file = file
        self.length = length
        self.fail = fail
        super.init(data: Data())
    }

    override var hasBytesAvailable: Bool { offset < length }

    override var streamStatus: Status { status }

    override var streamError: (any Error)? { nil }

    override func open() {
        status = .open
    }

    override func close() {
        status = .closed
    }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength count: Int) -> Int {
        do {
            let rest = Int(min(length - offset, Int64(count)))
            let target = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: rest)
            let read = try unsafe file.read(into: target, at: offset)
            guard read == rest else { throw BodyLengthError() }
            offset += Int64(read)
            return read
        } catch {
            fail(error)
            return -1
        }
    }
}
#endif

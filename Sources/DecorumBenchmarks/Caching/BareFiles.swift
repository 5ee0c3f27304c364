import Foundation

/// Files that are read with nothing but system calls: the least that a hit from a file can cost.
struct BareFiles {
    private let paths: [String]
    private let length: Int

    /// Creates files of random bytes in a folder.
    init(_ count: Int, of length: Int, in folder: URL) throws {
        self.length = length
        paths = (0..<count).map { folder.appending(path: "\($0)").path }
        let content = Data((0..<length).map { _ in UInt8.random(in: .min ... .max) })
        for path in paths { try content.write(to: URL(filePath: path)) }
    }

    /// Reads each file into new memory.
    func readAll() throws {
        for path in paths {
            guard try read(path).count == length else { throw BenchmarkFailure("A file is not there.") }
        }
    }

    @inline(never) private func read(_ path: String) throws -> Data {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw BenchmarkFailure("A file cannot be opened.") }
        defer { close(descriptor) }
        var status = stat()
        // The system fills in the whole structure, which it is given the address of.
        guard unsafe fstat(descriptor, &status) == 0 else { throw BenchmarkFailure("A file has no length.") }
        var content = Data(count: Int(status.st_size))
        let count = unsafe content.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
        return count == content.count ? content : Data()
    }
}

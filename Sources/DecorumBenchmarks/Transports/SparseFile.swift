import Foundation

/// A file of zeros, for content that is sent.
///
/// It is in memory where the system has a file system for that. On a disk, the first read of a file fills the system's cache,
/// and a virtual machine may have to get this memory from its host first: one GiB took 4.4 s in place of 0.2 s, at chance.
struct SparseFile {
    let url: URL

    /// Creates a file that takes no space.
    init(mebibytes: Int, at url: URL = Self.folder.appending(path: "benchmarks-\(UUID())")) throws {
        self.url = url
        guard FileManager.default.createFile(atPath: url.path, contents: nil) else {
            throw BenchmarkFailure("The file cannot be created.")
        }
        let handle = try FileHandle(forWritingTo: url)
        try handle.truncate(atOffset: UInt64(mebibytes) << 20)
        try handle.close()
    }

    func remove() throws {
        try FileManager.default.removeItem(at: url)
    }

    /// The folder for files: in memory, or else that for temporary ones.
    static var folder: URL {
        let memory = URL(filePath: "/dev/shm")
        return FileManager.default.isWritableFile(atPath: memory.path) ? memory : FileManager.default.temporaryDirectory
    }
}

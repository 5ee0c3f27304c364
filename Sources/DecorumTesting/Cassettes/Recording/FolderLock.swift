import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Keeps other writers, of this process and of others, from writing into a folder at the same time.
enum FolderLock {
    /// Runs a closure while no other writer runs one for the same folder; `file` is named in errors.
    static func hold(on folder: URL, for file: URL, _ body: () throws -> Void) throws {
        let descriptor = unsafe open(folder.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw CassetteError(file: file.relativePath, reason: "its folder cannot be opened")
        }
        defer { close(descriptor) }
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else {
                throw CassetteError(file: file.relativePath, reason: "its folder cannot be locked")
            }
        }
        try body()
    }
}

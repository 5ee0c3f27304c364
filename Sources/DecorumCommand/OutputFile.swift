#if CommandLine
import Foundation

/// A file that the command writes: it appears only when it is complete, and replaces another one only if the user wants it.
struct OutputFile: Sendable, Hashable {
    let path: String
    let isReplacing: Bool

    init(_ path: String, replacing isReplacing: Bool) {
        (self.path, self.isReplacing) = (path.expandingHome, isReplacing)
    }

    var url: URL { URL(filePath: path) }
    private var folder: String { url.deletingLastPathComponent().path }
    private var hiddenPath: String { "\(folder)/.\(url.lastPathComponent).partial" }

    /// Whether there is a file, a folder or a link; devices and pipes are written as they are, such as /dev/null.
    var exists: Bool { kind != nil && !isStream }
    private var isStream: Bool { kind == S_IFCHR || kind == S_IFIFO }
    private var kind: mode_t? {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    /// Refuses a file that exists, before work is done for it.
    func check() throws(CommandFailure) {
        guard path != "-" else { throw CommandFailure(.usage, "“-” is no name of a file.") }
        if exists, !isReplacing { throw failure(EEXIST) }
    }

    func write(_ data: Data) throws(CommandFailure) {
        let part = try begin()
        defer { part.discard() }
        try part.append(data)
        try part.finish()
    }

    /// Opens a part of the file, which has no name, so that nothing is left of it when its process is killed.
    ///
    /// Where the file system has no such files, the part has a hidden name, and the next run takes it over.
    func begin(hidden isHidden: Bool = false) throws(CommandFailure) -> Part {
        try check()
        let unnamed = isHidden || isStream ? -1 : unnamedFile(in: folder)
        let source = unnamed >= 0 ? "/proc/self/fd/\(unnamed)" : isStream ? path : hiddenPath
        let flags = O_WRONLY | O_CLOEXEC | (isStream ? 0 : O_CREAT | O_NOFOLLOW)
        let descriptor = unnamed >= 0 ? unnamed : unsafe open(source, flags, 0o666)
        guard descriptor >= 0 else { throw failure(errno) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard source != hiddenPath || takes(descriptor) else {
            throw CommandFailure(.cannotCreate, "“\(source)” is in use. Remove it if no other run writes it.")
        }
        return Part(file: self, source: isStream ? nil : source, handle: handle)
    }

    /// Empties the hidden file, unless another process has it locked, moved or linked, or another user owns it.
    private func takes(_ descriptor: Int32) -> Bool {
        var (status, named) = (stat(), stat())
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, unsafe fstat(descriptor, &status) == 0 else { return false }
        return unsafe lstat(hiddenPath, &named) == 0 && named.st_ino == status.st_ino && named.st_nlink == 1
            && named.st_uid == geteuid() && ftruncate(descriptor, 0) == 0
    }

    /// What is written of a file so far.
    struct Part: Sendable {
        fileprivate let file: OutputFile
        /// Where the part is found as long as it has no name of its own; nil if it is written in its place.
        fileprivate let source: String?
        fileprivate let handle: FileHandle
        private var isNamed: Bool { source == file.hiddenPath }
        /// The name that the part has until it is complete, on Linux only for the move that replaces a file.
        private var name: String { isNamed ? file.hiddenPath : "\(file.hiddenPath).\(getpid())" }

        func append(_ data: Data) throws(CommandFailure) {
            do { try handle.write(contentsOf: data) } catch {
                throw CommandFailure(.cannotReadOrWrite, "“\(file.path)” cannot be written. Is the disk full?")
            }
        }

        /// Gives the part its name, in one step, and makes both durable.
        ///
        /// Only a move replaces a file, for which the part needs a name of its own; only a link fails where another process has
        /// taken the name meanwhile.
        func finish() throws(CommandFailure) {
            guard let source else { return }
            func link(to path: String) -> Bool {
                unsafe linkat(AT_FDCWD, source, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0
            }
            func move() -> Bool { unsafe rename(name, file.path) == 0 }
            // FAT has no links, which Linux tells by the one error, and macOS by the other.
            func moveWithoutLinks() -> Bool {
                isNamed && [EPERM, ENOTSUP].contains(errno) && !file.exists && move()
            }
            guard fsync(handle.fileDescriptor) == 0,
                file.isReplacing ? (isNamed || link(to: name)) && move() : link(to: file.path) || moveWithoutLinks()
            else { throw file.failure(errno) }
            let folder = unsafe open(file.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            // Some file systems cannot make names durable.
            if folder >= 0 { _ = (fsync(folder), close(folder)) }
        }

        /// Removes what has got no other name.
        func discard() { if source != nil { unsafe unlink(name) } }
    }

    fileprivate func failure(_ code: Int32) -> CommandFailure {
        let reason = unsafe "cannot be written: \(String(cString: strerror(code)))."
        let isThere = "exists. Name another file, or add --force to replace it."
        return CommandFailure(.cannotCreate, "“\(path)” \(code == EEXIST ? isThere : reason)")
    }
}

#if os(Linux)
/// Opens a file without a name; negative if the system has no such files, or no folder by which they get a name.
private func unnamedFile(in folder: String) -> Int32 {
    // O_TMPFILE, which the module of the system's library leaves out.
    let descriptor = unsafe open(folder, 0o20000000 | O_DIRECTORY | O_WRONLY | O_CLOEXEC, 0o666)
    guard descriptor >= 0, unsafe access("/proc/self/fd/\(descriptor)", F_OK) != 0 else { return descriptor }
    close(descriptor)
    return -1
}
#else
private func unnamedFile(in folder: String) -> Int32 { -1 }
#endif
#endif

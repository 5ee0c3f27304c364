#if CommandLine
import Decorum
import Foundation

/// Content that the command reads: of a file, or, for `-`, of the standard input.
enum InputFile {
    /// The largest file that is read into memory as a whole.
    static let limit = 64 << 20

    /// Reads a file as a whole.
    static func data(_ path: String) throws(CommandFailure) -> Data {
        let handle = try handle(path)
        guard let data = try? handle.read(upToCount: limit + 1) ?? Data() else { throw unreadable(path) }
        guard data.count <= limit else {
            throw CommandFailure(.badInput, "“\(path)” has more than \(limit >> 20) MiB.")
        }
        return data
    }

    /// Reads a file of text without the line break at its end.
    static func text(_ path: String) throws(CommandFailure) -> String {
        let text = String(decoding: try data(path), as: UTF8.self)
        return text.last?.isNewline == true ? String(text.dropLast()) : text
    }

    /// The place of a file that another part of the program reads; a folder is no file.
    static func url(_ path: String) throws(CommandFailure) -> URL {
        let url = URL(filePath: path.expandingHome, directoryHint: .checkFileSystem)
        guard !url.hasDirectoryPath, FileManager.default.isReadableFile(atPath: url.path) else { throw missing(path) }
        return url
    }

    /// A file that is read while it is sent; the standard input is read before, so that it can be sent again.
    static func body(_ path: String) throws(CommandFailure) -> Body {
        guard path != "-" else { return Body(try data(path)) }
        do { return try Body(contentsOf: URL(filePath: path.expandingHome)) } catch { throw missing(path) }
    }

    /// The lines of a file, which are read as they are needed; empty lines and comments with `#` are left out.
    static func lines(_ path: String) throws(CommandFailure) -> some Sequence<String> {
        // `readLine` reads the standard input alone.
        let handle = try handle(path)
        // A folder, or an input that is closed, cannot be read at all.
        guard read(handle.fileDescriptor, nil, 0) == 0, dup2(handle.fileDescriptor, STDIN_FILENO) >= 0 else {
            throw unreadable(path)
        }
        return AnyIterator { readLine() }.lazy
            .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }

    private static func handle(_ path: String) throws(CommandFailure) -> FileHandle {
        guard path != "-" else { return .standardInput }
        guard let handle = FileHandle(forReadingAtPath: path.expandingHome) else { throw missing(path) }
        return handle
    }

    private static func unreadable(_ path: String) -> CommandFailure {
        CommandFailure(.cannotReadOrWrite, "“\(path)” cannot be read.")
    }

    private static func missing(_ path: String) -> CommandFailure {
        CommandFailure(.noInput, "There is no file “\(path)” that can be read.")
    }
}

extension String {
    /// The path with the user's folder, as a shell knows it, in the place of `~`, which it expands only at the start of a word.
    var expandingHome: String {
        hasPrefix("~/") ? (ProcessInfo.processInfo.environment["HOME"] ?? NSHomeDirectory()) + dropFirst() : self
    }

    /// The start of the text, for a message.
    var shortened: String { count > 40 ? prefix(40) + "…" : self }
}
#endif

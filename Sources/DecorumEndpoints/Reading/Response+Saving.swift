public import Decorum
public import Foundation
import HTTPTypes

extension Response {
    /// Writes the content to a file, which appears only when it is complete.
    ///
    /// ```swift
    /// let response = try await connection.send(.get("https://example.com/manual.pdf"))
    /// try await response.save(to: file, upTo: 100 << 20)
    /// ```
    ///
    /// The bytes go to a file beside it, which then takes its place in one step. A failure, such as a broken transfer or a
    /// cancelled task, leaves neither of them, and a file that was there before stays. The new file has the permissions of
    /// the one that it replaces.
    ///
    /// - Parameters:
    ///   - file: The URL of the file, in a folder that exists. A file that is there is replaced.
    ///   - limit: The largest number of bytes to accept.
    /// - Throws: ``ResponseSavingError`` for a status that is no success, and for a part of the content (206);
    ///   `BodyLimitError`; the error that prevents reading; or ``FileWritingError``.
    @concurrent public func save(to file: URL, upTo limit: Int64) async throws {
        let part = try await partialFile(in: file.deletingLastPathComponent(), replacing: file, upTo: limit)
        defer { part.remove() }
        try FileWritingError.naming(file.deletingLastPathComponent()) { try part.replace(file) }
    }

    /// Writes the content to a new file in a folder, under the name that the server suggests.
    ///
    /// The name is ``suggestedFileName``, so it never leads out of the folder. A file that is there stays: the new one gets a
    /// number behind its name, as in `manual 2.pdf` and `archive 2.tar.gz`. It appears only when it is complete, as with ``save(to:upTo:)``.
    ///
    /// - Parameters:
    ///   - folder: The URL of a folder that exists.
    ///   - limit: The largest number of bytes to accept.
    /// - Returns: The URL of the file.
    /// - Throws: As ``save(to:upTo:)``.
    @concurrent public func save(in folder: URL, upTo limit: Int64) async throws -> URL {
        let part = try await partialFile(in: folder, upTo: limit)
        defer { part.remove() }
        return try FileWritingError.naming(folder) { try part.appear(in: folder, as: suggestedFileName) }
    }

    private func partialFile(
        in folder: URL, replacing file: URL? = nil, upTo limit: Int64
    ) async throws -> PartialFile {
        guard (200...299).contains(status.code), status != .partialContent else {
            throw ResponseSavingError(self)
        }
        guard body.length ?? 0 <= limit else {
            throw BodyLimitError(limit: Int(clamping: limit), length: body.length)
        }
        let part = try FileWritingError.naming(folder) { try PartialFile(in: folder, replacing: file) }
        do {
            var reader = try await body.open()
            var count: Int64 = 0
            while let chunk = try await reader.next() {
                count += Int64(chunk.count)
                guard count <= limit else { throw BodyLimitError(limit: Int(clamping: limit)) }
                try FileWritingError.naming(folder) { try part.handle.write(contentsOf: chunk) }
            }
            try FileWritingError.naming(folder) { try part.handle.close() }
            return part
        } catch {
            part.remove()
            throw error
        }
    }
}

/// A file that is being written, under a name that no other file has.
private struct PartialFile {
    let url: URL
    let handle: FileHandle

    init(in folder: URL, replacing file: URL?) throws {
        let number = String(UInt64.random(in: .min ... .max), radix: 36)
        url = folder.appending(path: ".\(number).partial", directoryHint: .notDirectory)
        // The option also refuses a symbolic link that somebody has put there.
        try Data().write(to: url, options: .withoutOverwriting)
        handle = try FileHandle(forWritingTo: url)
        var status = stat()
        guard let file, unsafe lstat(file.path(percentEncoded: false), &status) == 0, status.st_mode & S_IFMT == S_IFREG
        else { return }
        // Before the first byte, which may be for this user alone.
        guard fchmod(handle.fileDescriptor, status.st_mode & 0o777) == 0 else {
            remove()
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
    }

    /// Takes the place of a file in one step.
    func replace(_ file: URL) throws {
        let status = unsafe rename(url.path(percentEncoded: false), file.path(percentEncoded: false))
        guard status == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    /// Takes a name that is free, which a number makes where it is not.
    func appear(in folder: URL, as name: String) throws -> URL {
        let dot = Self.startOfExtension(of: name)
        for number in 1..<1000 {
            let name = number == 1 ? name : "\(name[..<dot]) \(number)\(name[dot...])"
            let file = folder.appending(path: name, directoryHint: .notDirectory)
            // A link, other than a move, fails where another process has taken the name a moment ago.
            let path = file.path(percentEncoded: false)
            if unsafe link(url.path(percentEncoded: false), path) == 0 { return file }
            switch errno {
            case EEXIST: continue
            case EPERM, ENOTSUP, EMLINK, ENOSYS:
                // Some file systems have no links.
                guard !FileManager.default.fileExists(atPath: path) else { continue }
                try FileManager.default.moveItem(at: url, to: file)
                return file
            case let code: throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
            }
        }
        throw CocoaError(.fileWriteFileExists)
    }

    /// The dot before the extension, which is of two parts for an archive that is compressed.
    private static func startOfExtension(of name: String) -> String.Index {
        guard let dot = name.lastIndex(of: ".") else { return name.endIndex }
        let stem = name[..<dot]
        return stem.lowercased().hasSuffix(".tar") ? stem.lastIndex(of: ".") ?? dot : dot
    }

    /// Removes the file, unless it has taken its place.
    func remove() {
        try? handle.close()
        try? FileManager.default.removeItem(at: url)
    }
}

/// The content of a response is not that of a file.
public struct ResponseSavingError: DescribableError {
    /// The response, whose body can be read.
    public let response: Response
    /// A sentence that names the response, with its URL but without the query.
    public let description: String

    init(_ response: Response) {
        self.response = response
        let reason =
            response.status == .partialContent ? "has only a part of the content" : "has a status that is no success"
        description = "Nothing was saved, because the \(response.summary) \(reason)."
    }
}

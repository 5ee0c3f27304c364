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
    /// number behind its name, as in `manual 2.pdf` and `archive 2.tar.gz`. It appears only when it is complete, as with
    /// ``save(to:upTo:)``.
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

    /// Takes a name that is free, with a number behind it if it is not.
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

/// The content of a response cannot be written into a folder; no part of it is left there.
public struct FileWritingError: DescribableError {
    /// The folder that the file was to appear in.
    public let folder: URL
    /// The error of the file system.
    public let underlyingError: any Error
    /// A sentence that names the folder, and says whether it exists.
    public let description: String

    private init(_ folder: URL, _ error: any Error) {
        self.folder = folder
        underlyingError = error
        let path = folder.path(percentEncoded: false)
        let isFolder = (try? folder.resolvingSymlinksInPath().resourceValues(forKeys: [.isDirectoryKey]))?.isDirectory
        description =
            isFolder == true
            ? "The file cannot be written into the folder “\(path)”; see `underlyingError`."
            : "There is no folder “\(path)”; create it before the content is saved."
    }

    /// Names the folder in the error of a step that writes.
    static func naming<Result>(
        _ folder: URL, _ write: () throws -> Result
    ) throws(FileWritingError) -> Result {
        do {
            return try write()
        } catch {
            throw FileWritingError(folder, error)
        }
    }
}

/// A name of a file that a server has chosen, reduced to one that leads to no other folder and no device.
///
/// - Only the text behind the last slash or backslash counts, so `../../.ssh/config` becomes `config`.
/// - Control characters and characters that change the direction of text are left out, since they make a name look like
///   another.
/// - The characters that a file system of Windows refuses (`< > : " | ? *`) become an underscore.
/// - Dots and blanks at the begin and at the end are left out, so no name is hidden, `.` or `..`.
/// - A name of a device of Windows, such as `NUL` or `com1.txt`, gets an underscore before it.
/// - A name with more than 200 bytes is cut, and keeps an extension of up to 20 bytes.
struct SafeFileName {
    let text: String

    /// Makes a safe name of any text; returns nil if nothing of it is left.
    init?(_ name: String) {
        let last = name.unicodeScalars.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }.last
        var scalars = String.UnicodeScalarView()
        for scalar in last ?? "".unicodeScalars[...] {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: break
            default: scalars.append("<>:\"|?*".unicodeScalars.contains(scalar) ? "_" : scalar)
            }
        }
        let text = Self.cut(Self.trimmed(String(scalars)[...]))
        guard !text.isEmpty else { return nil }
        self.text = Self.isDevice(text) ? "_" + text : text
    }

    /// The text without dots, blanks, and marks that have no letter before them, at the begin and at the end.
    private static func trimmed(_ text: Substring) -> Substring {
        let isLeftOut = { (scalar: Unicode.Scalar) in scalar == "." || scalar.properties.isWhitespace }
        // A mark joins the dot before it to another character, which is still a dot to the file system.
        var text = text.unicodeScalars.drop { isLeftOut($0) || $0.properties.isMark }
        while let last = text.last, isLeftOut(last) { text.removeLast() }
        return Substring(text)
    }

    /// The name within its limit of bytes, cut between characters.
    private static func cut(_ name: Substring) -> String {
        let limit = 200
        guard name.utf8.count > limit else { return String(name) }
        // Characters are slow to read from the end: there may be thousands of them before a boundary is found.
        let dot = name.utf8.suffix(21).lastIndex(of: UInt8(ascii: "."))
        let ending = dot.map { name[$0...] } ?? ""
        var stem = name[..<(dot ?? name.endIndex)]
        // A character may have any number of scalars, so the scalars are counted.
        var length = stem.utf8.count
        while length + ending.utf8.count > limit, let last = stem.unicodeScalars.popLast() {
            length -= UTF8.width(last)
        }
        return String(trimmed(stem) + ending)
    }

    private static func isDevice(_ name: String) -> Bool {
        let stem = name.prefix { $0 != "." }.trimmingSuffix { $0 == " " }.uppercased()
        if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].contains(stem) { return true }
        guard stem.hasPrefix("COM") || stem.hasPrefix("LPT"), stem.count == 4, let digit = stem.last else {
            return false
        }
        return "0123456789¹²³".contains(digit)
    }
}

extension Unicode.Scalar.Properties {
    fileprivate var isMark: Bool {
        [.nonspacingMark, .spacingMark, .enclosingMark].contains(generalCategory)
    }
}

extension Substring {
    fileprivate func trimmingSuffix(while isLeftOut: (Character) -> Bool) -> Substring {
        var text = self
        while let last = text.last, isLeftOut(last) { text.removeLast() }
        return text
    }
}

/// The field `Content-Disposition` of a response (RFC 6266).
struct ContentDisposition {
    /// The name that the server gives the file, of `filename*` (RFC 8187) or else of `filename`; it may hold a path.
    let fileName: String?

    init(_ value: String) {
        let parsed = ParameterizedValue(value)
        fileName = parsed["filename*"].flatMap(Self.decode) ?? parsed["filename"]
    }

    /// Decodes an extended value: a charset, a language and percent-encoded bytes, between apostrophes (RFC 8187, section
    /// 3.2); nil if it is malformed.
    private static func decode(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let bytes = PercentCoding.decode(Array(parts[2].utf8)[...], plusIsBlank: false)
        return switch parts[0].lowercased() {
        case "utf-8": String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        default: nil
        }
    }
}

extension Response {
    /// The name for the file of the content that the server suggests, made safe: of `Content-Disposition`, or else the last
    /// segment of the URL that answered, or else `download`.
    ///
    /// It is one segment of a path of at most 201 bytes: only the text behind the last slash or backslash counts, control
    /// characters and dots at the ends are left out, and a name of a device of Windows gets an underscore before it. A field
    /// that is not UTF-8 is read as windows-1252.
    public var suggestedFileName: String {
        let field = head.headerFields.first { $0.name == .contentDisposition }
        let named = field.flatMap { ContentDisposition($0.text).fileName }
        let segment = metadata.url.map { url in
            let path = url.path(percentEncoded: true).utf8.split(separator: UInt8(ascii: "/")).last
            let bytes = PercentCoding.decode(Array(path ?? "".utf8[...])[...], plusIsBlank: false)
            return String(decoding: bytes, as: UTF8.self)
        }
        return [named, segment].lazy.compactMap { $0.flatMap { SafeFileName($0) } }.first?.text ?? "download"
    }
}

extension HTTPField {
    /// The value in UTF-8, or else in windows-1252, which older servers send (RFC 9110, section 5.5).
    fileprivate var text: String {
        // The bytes are copied within the closure.
        let bytes = unsafe withUnsafeBytesOfValue { unsafe Data($0) }
        return String(validating: bytes, as: UTF8.self) ?? Charset(label: "latin1")?.decode(bytes) ?? value
    }
}

/// A value of a field with parameters, such as `attachment; filename="a.pdf"` (RFC 9110, section 5.6.6).
struct ParameterizedValue {
    /// The text before the first semicolon, in lower case.
    let value: String
    /// The names in lower case, and the values without their quotation marks, up to the first that is malformed.
    private(set) var parameters: [(name: String, value: String)] = []

    init(_ text: String) {
        var rest = text[...].utf8
        value = Self.trimmed(Self.take(&rest) { $0 != UInt8(ascii: ";") }).lowercased()
        while rest.popFirst() != nil {
            Self.skipBlanks(&rest)
            // A semicolon at the end of the value has nothing behind it.
            guard let first = rest.first else { return }
            if first == UInt8(ascii: ";") { continue }
            let name = Self.trimmed(Self.take(&rest) { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") })
            guard !name.isEmpty, rest.popFirst() == UInt8(ascii: "=") else { return }
            Self.skipBlanks(&rest)
            guard let value = Self.takeValue(&rest) else { return }
            parameters.append((name.lowercased(), value))
            Self.skipBlanks(&rest)
            guard rest.first == nil || rest.first == UInt8(ascii: ";") else { return }
        }
    }

    /// The first parameter with a name, which is in lower case.
    subscript(name: String) -> String? {
        parameters.first { $0.name == name }?.value
    }

    /// A token, or a string between quotation marks, in which a backslash stands before a character; nil if it has no end.
    private static func takeValue(_ rest: inout Substring.UTF8View) -> String? {
        guard rest.first == UInt8(ascii: "\"") else { return trimmed(take(&rest) { $0 != UInt8(ascii: ";") }) }
        rest.removeFirst()
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return String(decoding: bytes, as: UTF8.self) }
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            guard let escaped = rest.popFirst() else { return nil }
            bytes.append(escaped)
        }
        return nil
    }

    private static func take(
        _ rest: inout Substring.UTF8View, while isPart: (UInt8) -> Bool
    ) -> Substring.UTF8View {
        let end = rest.firstIndex { !isPart($0) } ?? rest.endIndex
        defer { rest = rest[end...] }
        return rest[..<end]
    }

    private static func skipBlanks(_ rest: inout Substring.UTF8View) {
        rest = rest.drop { $0 == 0x20 || $0 == 0x09 }
    }

    private static func trimmed(_ bytes: Substring.UTF8View) -> String {
        var bytes = bytes.drop { $0 == 0x20 || $0 == 0x09 }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        return String(Substring(bytes))
    }
}

import Foundation

/// The bytes of a cassette's file, and the trace of a merge in it.
extension CassetteContent {
    /// The largest file that is read, in bytes.
    static let limit = 256 << 20

    /// The error of a file in which a merge has left the marks of a conflict; nil if it has none.
    static func conflict(in bytes: [UInt8], of file: URL) -> CassetteError? {
        let mark = Array("<<<<<<< ".utf8)
        let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
        guard let index = lines.firstIndex(where: { $0.starts(with: mark) }) else { return nil }
        return CassetteError(
            file: file.relativePath, place: "line \(index + 1)",
            reason:
                "a merge has left a conflict there; keep the interactions of both sides, but no copies, and delete the "
                + "lines with `<<<<<<<`, `=======` and `>>>>>>>`, or delete the file and record it again")
    }

    static func bytes(of file: URL) throws(CassetteError) -> [UInt8] {
        do {
            let path = file.resolvingSymlinksInPath().path
            let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
            guard size <= limit else {
                throw CassetteError(
                    file: file.relativePath, reason: "it has \(size) bytes, and at most \(limit) are read")
            }
            return try read(file, size: size) ?? Array(Data(contentsOf: file))
        } catch let error as CassetteError {
            throw error
        } catch {
            throw CassetteError(file: file.relativePath, reason: "it cannot be read from the disk")
        }
    }

    /// The bytes of a file that has a size, into an array at once, because a copy of `Data` takes longer than to read it; nil
    /// if the file has grown, so that there are more.
    private static func read(_ file: URL, size: Int) throws -> [UInt8]? {
        guard let stream = InputStream(url: file) else { throw CocoaError(.fileReadUnknown) }
        stream.open()
        defer { stream.close() }
        let bytes = try unsafe [UInt8](unsafeUninitializedCapacity: size + 1) { buffer, count in
            while count < buffer.count, let start = buffer.baseAddress {
                let read = unsafe stream.read(start + count, maxLength: buffer.count - count)
                guard read >= 0 else { throw CocoaError(.fileReadUnknown) }
                if read == 0 { return }
                count += read
            }
        }
        return bytes.count <= size ? bytes : nil
    }
}

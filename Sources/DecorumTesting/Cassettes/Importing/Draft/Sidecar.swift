import Foundation

extension ImportDraft {
    /// Reads a file beside an archive, which has to be within the archive's folder, or in the same zip archive.
    mutating func sidecar(_ name: String, at node: StoredNode) throws(ImportFault) -> RecordedBody {
        guard isWithinFolder(name) else {
            throw node.fault("the name of the file beside it leaves the folder")
        }
        if let archive {
            do throws(ImportFault) {
                if let bytes = try archive.content(of: name, within: &budget) { return RecordedBody(bytes) }
            } catch {
                throw error.located(at: node)
            }
            warn(.missingBody, at: node, "The content is in a file that the zip archive does not have.")
            return RecordedBody(exactness: .lossy)
        }
        guard let folder else {
            warn(.missingBody, at: node, "The content is in a file beside the archive, whose folder is not known.")
            return RecordedBody(exactness: .lossy)
        }
        guard let file = Self.file(name, in: folder, within: folder) else {
            throw node.fault("the name of the file beside it leaves the folder")
        }
        return try content(of: file, at: node)
    }

    /// Reads a file that VCR for R wrote in a folder of its own, which is usually a sibling of the cassette's folder.
    ///
    /// The path is absolute, or begins at the folder in which R ran. Only files in the folder around the cassette's are
    /// read.
    mutating func writtenFile(_ node: StoredNode) throws(ImportFault) -> RecordedBody {
        let path = node.text ?? ""
        guard let folder, !path.contains("\0"), !path.isEmpty else {
            warn(.missingBody, at: node, "The content is in another file, whose folder is not known.")
            return RecordedBody(exactness: .lossy)
        }
        let around = folder.deletingLastPathComponent()
        let tail = path.split(separator: "/").suffix(2).joined(separator: "/")
        let candidates = [Self.file(path, in: folder, within: around), Self.file(tail, in: around, within: around)]
        let file = candidates.compactMap(\.self).first { FileManager.default.fileExists(atPath: $0.path) }
        guard let file else {
            warn(.missingBody, at: node, "The content is in a file that is not beside the folder of the cassette.")
            return RecordedBody(exactness: .lossy)
        }
        return try content(of: file, at: node)
    }

    /// The file of a path without its symbolic links; nil if it is not within a folder.
    private static func file(_ path: String, in folder: URL, within root: URL) -> URL? {
        let root = root.resolvingSymlinksInPath().standardizedFileURL.path
        let file = path.hasPrefix("/") ? URL(filePath: path) : folder.appendingPathComponent(path)
        let resolved = file.standardizedFileURL.resolvingSymlinksInPath().standardizedFileURL
        return resolved.path.hasPrefix(root.hasSuffix("/") ? root : root + "/") ? resolved : nil
    }

    private mutating func content(of file: URL, at node: StoredNode) throws(ImportFault) -> RecordedBody {
        let values = try? file.resourceValues(forKeys: [.fileSizeKey, .isRegularFileKey])
        guard values?.isRegularFile == true, let size = values?.fileSize, size <= budget.limits.fileLength,
            let bytes = try? Data(contentsOf: file)
        else {
            warn(.missingBody, at: node, "The content is in a file beside the archive that cannot be read.")
            return RecordedBody(exactness: .lossy)
        }
        do throws(ImportFault) {
            try budget.spend(bytes: bytes.count)
        } catch {
            throw error.located(at: node)
        }
        return RecordedBody(bytes)
    }

    private func isWithinFolder(_ name: String) -> Bool {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        return !name.isEmpty && !name.contains("\\") && !name.contains("\0") && !name.hasPrefix("~")
            && parts.allSatisfy { !$0.isEmpty && $0 != ".." && $0 != "." }
    }
}

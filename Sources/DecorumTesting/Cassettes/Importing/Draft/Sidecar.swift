import Foundation

extension ImportDraft {
    /// Reads a file beside an archive, which has to be within the archive's folder, or in the same zip archive.
    mutating func sidecar(_ name: String, at node: StoredNode) throws(ImportFault) -> RecordedBody {
        guard isWithinFolder(name) else {
            throw node.fault("the name of the file beside it leaves the folder")
        }
        if let archive {
            if let bytes = try archive.content(of: name, within: &budget) { return RecordedBody(bytes) }
            warn(.missingBody, at: node, "The content is in a file that the zip archive does not have.")
            return RecordedBody(exactness: .lossy)
        }
        guard let folder else {
            warn(.missingBody, at: node, "The content is in a file beside the archive, whose folder is not known.")
            return RecordedBody(exactness: .lossy)
        }
        let root = folder.resolvingSymlinksInPath().standardizedFileURL.path
        let file = folder.appendingPathComponent(name).resolvingSymlinksInPath().standardizedFileURL
        guard file.path.hasPrefix(root.hasSuffix("/") ? root : root + "/") else {
            throw node.fault("the name of the file beside it leaves the folder")
        }
        let values = try? file.resourceValues(forKeys: [.fileSizeKey, .isRegularFileKey])
        guard values?.isRegularFile == true, let size = values?.fileSize, size <= budget.limits.fileLength,
            let bytes = try? Data(contentsOf: file)
        else {
            warn(.missingBody, at: node, "The content is in a file beside the archive that cannot be read.")
            return RecordedBody(exactness: .lossy)
        }
        try budget.spend(bytes: bytes.count)
        return RecordedBody(bytes)
    }

    private func isWithinFolder(_ name: String) -> Bool {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        return !name.isEmpty && !name.contains("\\") && !name.contains("\0") && !name.hasPrefix("~")
            && parts.allSatisfy { !$0.isEmpty && $0 != ".." && $0 != "." }
    }
}

public import Decorum
public import Foundation

/// The content of a response cannot be written into a folder; no part of it is left there.
public struct FileWritingError: DescribableError {
    /// The folder that the file was to appear in.
    public let folder: URL
    /// The error of the file system.
    public let underlyingError: any Error
    /// A sentence that names the folder, and the reason where it is a common one; else see ``underlyingError``.
    public let description: String

    private init(_ folder: URL, _ error: any Error) {
        self.folder = folder
        underlyingError = error
        description = Self.description(folder, error)
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

    private static func description(_ folder: URL, _ error: any Error) -> String {
        let path = folder.path(percentEncoded: false)
        let values = try? folder.resolvingSymlinksInPath().resourceValues(forKeys: [.isDirectoryKey])
        guard let isFolder = values?.isDirectory else {
            return "The folder “\(path)” does not exist; create it before the content is saved."
        }
        guard isFolder else { return "“\(path)” is not a folder, so no file can be written into it." }
        let reason =
            switch code(of: error) {
            case .EACCES, .EPERM: "the process may not write there"
            case .ENOSPC, .EDQUOT: "no space is left"
            case .EROFS: "its volume is read-only"
            case .EISDIR, .ENOTEMPTY: "a folder has the name of the file"
            default: "see `underlyingError`"
            }
        return "The file cannot be written into the folder “\(path)”: \(reason)."
    }

    private static func code(of error: any Error) -> POSIXErrorCode? {
        if let error = error as? POSIXError { return error.code }
        return switch (error as? CocoaError)?.code {
        case .fileWriteNoPermission: .EACCES
        case .fileWriteOutOfSpace: .ENOSPC
        case .fileWriteVolumeReadOnly: .EROFS
        default: nil
        }
    }
}

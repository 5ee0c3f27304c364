import Foundation

/// The words for a failure of the file system, without a path.
enum DiskFailure {
    static func words(for error: CocoaError) -> String {
        switch error.code {
        case .fileNoSuchFile, .fileReadNoSuchFile: "a folder of the path does not exist"
        case .fileWriteNoPermission, .fileReadNoPermission: "there is no permission to write there"
        case .fileWriteOutOfSpace: "the disk is full"
        case .fileWriteVolumeReadOnly: "the disk is read-only"
        case .fileWriteFileExists: "a file stands where a folder is needed"
        case .fileWriteInvalidFileName: "the name of the file is not valid"
        default: "error \(error.errorCode) of the file system"
        }
    }
}

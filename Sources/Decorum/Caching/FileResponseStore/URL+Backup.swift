import Foundation

#if canImport(Darwin)
extension URL {
    /// Excludes the directory from backups, since its content can be requested again.
    func excludeFromBackup() {
        var url = self
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        try? url.setResourceValues(values)
    }
}
#else
extension URL {
    /// Does nothing, since the system has no such setting.
    func excludeFromBackup() {}
}
#endif

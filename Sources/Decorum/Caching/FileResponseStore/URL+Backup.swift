import Foundation

#if canImport(Darwin)
extension URL {
    /// Keeps the directory out of backups, since what is in it can be had again.
    func excludeFromBackup() {
        var url = self
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        try? url.setResourceValues(values)
    }
}
#else
extension URL {
    /// Does nothing, since the system has no such mark.
    func excludeFromBackup() {}
}
#endif

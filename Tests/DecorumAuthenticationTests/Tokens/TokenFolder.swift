import Foundation
import Synchronization

/// A directory of mode 0700 that is removed at the end of a test.
final class TokenFolder: Sendable {
    let url: URL

    init() {
        url = FileManager.default.temporaryDirectory.appending(path: "decorum-\(UInt64.random(in: 0 ... .max))")
        try? FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }
}

/// A number that many tasks change.
final class Counter: Sendable {
    private let count = Mutex(0)

    var value: Int { count.withLock { $0 } }

    @discardableResult func add(_ number: Int) -> Int {
        count.withLock { count in
            count += number
            return count
        }
    }
}

import DecorumEndpoints
import Foundation
import Synchronization

/// A stream that gives its bytes one by one.
struct OneByteReader: BodyReader {
    var count: Int
    var watch: Released.Watch?

    mutating func next() async throws -> Data? {
        guard count > 0 else { return nil }
        count -= 1
        return Data([UInt8(ascii: "x")])
    }

    var trailers: HTTPFields? { nil }
}

/// Tells whether a reader was released.
final class Released: Sendable {
    final class Watch: Sendable {
        private let owner: Released

        init(_ owner: Released) { self.owner = owner }

        deinit { owner.flag.store(true, ordering: .relaxed) }
    }

    private let flag = Atomic(false)
    var isTrue: Bool { flag.load(ordering: .relaxed) }

    func watch() -> Watch { Watch(self) }
}

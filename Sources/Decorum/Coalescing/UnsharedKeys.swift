/// The keys of requests whose latest response was for one caller alone, so that the next callers do not wait in vain.
///
/// It holds the hashes of the 1,000 latest keys. Where two hashes are equal by chance, a request is sent that could
/// have been shared, and no harm is done.
struct UnsharedKeys: Sendable {
    private static let countLimit = 1000
    private var hashes: Set<Int> = []
    /// The hashes in the order in which they were added, of which some may have been removed.
    private var order: [Int] = []
    private var next = 0

    func contains(_ hash: Int) -> Bool {
        !hashes.isEmpty && hashes.contains(hash)
    }

    mutating func insert(_ hash: Int) {
        guard !hashes.contains(hash) else { return }
        if order.count < Self.countLimit {
            order.append(hash)
        } else {
            hashes.remove(order[next])
            order[next] = hash
            next = (next + 1) % Self.countLimit
        }
        hashes.insert(hash)
    }

    mutating func remove(_ hash: Int) {
        guard !hashes.isEmpty else { return }
        hashes.remove(hash)
    }
}

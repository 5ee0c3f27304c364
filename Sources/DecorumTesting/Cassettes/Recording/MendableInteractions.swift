import Foundation

extension CassetteContent {
    /// The interactions that end before their responses do, or are outdated.
    func mendable(expiry: Date?) -> Set<Int> {
        Set((0..<count).filter { isMendable(at: $0, expiry: expiry) })
    }

    /// Whether a new recording takes the place of an interaction: it ends before its response does, or is outdated.
    func isMendable(at ordinal: Int, expiry: Date?) -> Bool {
        if isCut(at: ordinal) { return true }
        guard let expiry, let date = recordedAt(ordinal) else { return false }
        return date < expiry
    }

    /// Whether an interaction of a test was recorded before a date; false without a date.
    ///
    /// Those of other tests do not count, since the test does not record them anew.
    func isOutdated(before date: Date?, for opening: TestOpening?) -> Bool {
        guard let date else { return false }
        let owners = InteractionOwners(of: self, for: opening)
        return (0..<count).contains { ordinal in
            owners.areOf(ordinal) && recordedAt(ordinal).map { $0 < date } ?? false
        }
    }
}

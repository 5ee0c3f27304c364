/// The bytes of a store on the disk, as one process counts them: a decision for each write, without any file.
///
/// The process counts the bytes that it writes, and surveys the files once it has written a hundredth of the limit. So a
/// few processes together exceed the limit by at most a few hundredths.
struct ResponseSpaceBudget: Sendable {
    /// Whether files have to be removed.
    enum Urgency: Sendable {
        case none
        /// In the background, while the bytes are written.
        case soon
        /// Before the bytes are written.
        case now
        /// The bytes do not fit, whatever is removed.
        case out
    }

    let limit: Int
    /// The bytes that the files took at the last survey; nil without a survey.
    private(set) var found: Int?
    /// The bytes that were written since the start of that survey.
    private(set) var written = 0
    /// The bytes of bodies that are being received.
    private(set) var incoming = 0
    private(set) var isTrimmingSoon = false

    init(limit: Int) {
        self.limit = limit
    }

    /// The part of the limit to within which all processes keep it.
    var step: Int { limit / 100 }

    /// Admits bytes of a body that is being received: together, such bodies take at most half of the limit.
    mutating func admit(_ count: Int) -> Bool {
        guard count <= limit / 2 - incoming else { return false }
        incoming += count
        return true
    }

    /// Records that bytes of a body are in a finished file, or gone.
    mutating func release(_ count: Int) {
        incoming -= count
    }

    /// Whether so little room was left at the last survey that files have to be removed for what is written now.
    var isNearLimit: Bool { found.map { $0 >= limit - 16 * step } ?? false }

    /// Counts bytes that are about to be written.
    mutating func write(_ count: Int) -> Urgency {
        guard count <= limit else { return .out }
        written += count
        let step = max(step, (limit - (found ?? limit)) / 16)
        // Other processes may have written as much at the same time, so this cannot wait for long.
        if written > 2 * step { return .now }
        guard written > step || found == nil, !isTrimmingSoon else { return .none }
        isTrimmingSoon = true
        return .soon
    }

    /// Records that files were removed which took the bytes of a write.
    ///
    /// - Returns: Whether a survey has to start, which then counts as started.
    mutating func free(_ count: Int) -> Bool {
        written = max(0, written - count)
        defer { isTrimmingSoon = true }
        return !isTrimmingSoon
    }

    /// Whether a write that waited for a survey fits since another survey has ended meanwhile; it is counted then.
    mutating func fitsNow(_ count: Int) -> Bool {
        guard let found, written + count <= 2 * max(step, (limit - found) / 16), found + written + count <= limit else {
            return false
        }
        written += count
        return true
    }

    /// Starts a survey, and returns the number of bytes that were written before it.
    mutating func beginSurvey() -> Int {
        isTrimmingSoon = false
        return written
    }

    /// Whether files have to be removed, and how many bytes are to remain then.
    func target(found total: Int, room: Int) -> Int? {
        total + room > limit - step ? limit - 4 * step - room : nil
    }

    /// Ends a survey, and returns whether there is room for the bytes of a write that waits for it.
    mutating func endSurvey(found total: Int, before: Int, room: Int) -> Bool {
        found = total
        written = max(0, written - before) + room
        return total + room <= limit
    }
}

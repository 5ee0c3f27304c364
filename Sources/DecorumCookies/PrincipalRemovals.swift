/// The removals of the cookies of principals, so that an answer to an earlier request brings none back.
struct PrincipalRemovals: Sendable {
    private static let limit = 256

    /// The number of the last removal.
    private(set) var last: UInt64 = 0
    /// Everything up to this number counts as removed for all principals.
    private var all: UInt64 = 0
    private var numbers: [Principal?: UInt64] = [:]

    mutating func add(_ principal: Principal?) {
        last += 1
        numbers[principal] = last
        guard numbers.count > Self.limit, let first = numbers.min(by: { $0.value < $1.value }) else { return }
        // The answers to very old requests then set no cookies, whoever they are for.
        numbers[first.key] = nil
        all = first.value
    }

    mutating func addAll() {
        last += 1
        all = last
        numbers = [:]
    }

    /// Whether the cookies of a principal were removed after a request.
    func includes(_ principal: Principal?, since ticket: UInt64) -> Bool {
        all > ticket || (numbers[principal] ?? 0) > ticket
    }
}

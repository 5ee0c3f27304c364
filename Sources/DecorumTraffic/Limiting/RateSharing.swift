import Decorum
package import Foundation

/// The part of a rate that several machines share which counts their requests.
package final class RateSharing: Sendable {
    /// The number of machines.
    let machines: Int
    /// Adds a number of requests to the count of a window, and returns the sum; nil if that fails.
    let add: @Sendable (_ count: Int, _ key: TrafficKey, _ window: RateWindow) async -> Int64?

    package init(
        machines: Int, add: @escaping @Sendable (_ count: Int, _ key: TrafficKey, _ window: RateWindow) async -> Int64?
    ) {
        (self.machines, self.add) = (max(1, machines), add)
    }
}

/// The window of a shared rate at a date: a twentieth of the period, or as much as one request has, if that is more.
package struct RateWindow: Sendable, Hashable {
    /// The number of windows from the beginning of 1970 to this one.
    package let number: Int64
    /// The seconds of each window.
    package let length: Double
    /// The number of requests of all machines that may begin in the window, and in a window on average.
    package let (quota, mean): (Int, Double)
    /// The time from the date to the end of the window.
    package let rest: Duration

    package init(of rate: Limits.Rate, at date: Date) {
        let period = max(rate.period.bounded / .seconds(1), 1e-9)
        // A storage may take longer to answer than a window of less than 50 ms.
        let requests = Int(min(Double(max(rate.requests, 0)) * max(1 / period, 1), 1e15))
        let windows = min(max(requests, 1), 20)
        length = max(period, 1) / Double(windows)
        let position = date.timeIntervalSince1970 / length
        number = Int64(exactly: position.rounded(.down)) ?? 0
        let (place, more) = (Int((number % Int64(windows)).magnitude), requests % windows)
        quota = requests / windows + (place + 1) * more / windows - place * more / windows
        mean = Double(requests) / Double(windows)
        rest = .seconds(max(0, min(Double(number) + 1 - position, 1)) * length)
    }
}

/// The tokens of a shared rate that this machine has; its times count from the start of its limiter.
struct SharedTokens {
    private let rate: RateWindow
    /// The tokens for the present window; nil while the storage fails, so that the machine has its share of the rate alone.
    private var count: Int? = 0
    private var window: Int64?
    /// The tokens that the machine may still get in the window, whatever the storage says.
    private var left = 0
    /// Whether no machine gets more in the window.
    private var isUsed = false
    /// The time at which the storage is asked again.
    private var end = Duration.zero
    /// The time at which the storage was asked; nil once it has answered.
    private var asked: Duration?

    init(_ rate: RateWindow) { self.rate = rate }

    /// Whether the share of this machine decides.
    var isShare: Bool { count == nil }

    /// Whether a request may begin; nil if the share of this machine decides.
    func isFree(at now: Duration) -> Bool? { count.map { $0 > 0 && now < end } }

    /// Whether the storage has to be asked if requests wait.
    func isUnknown(at now: Duration) -> Bool { asked == nil && (now >= end || count == 0 && !isUsed) }

    /// The seconds until a number of requests may begin at the earliest; nil if the share of this machine decides.
    func wait(for requests: Int, at now: Duration) -> Double? {
        guard let count else { return nil }
        let behind = requests - (now < end ? count : 0)
        guard behind > 0 else { return 0 }
        // The clock and the date may differ a little in the speed at which they go.
        let next = isUsed && now < end ? (end - now + .milliseconds(1)).inSeconds : 0
        return next + (Double(behind - 1) / rate.mean).rounded(.down) * rate.length
    }

    /// The later time at which the storage that has failed is asked again.
    func nextTrial(after now: Duration) -> Duration? { isShare && end > now ? end : nil }

    mutating func ask(at now: Duration) { asked = now }

    mutating func take() { count? -= 1 }

    /// Notes the sum of a window after some requests were added; nil if that has failed.
    mutating func note(_ sum: Int64?, after added: Int, of window: RateWindow, until end: Duration, at now: Duration) {
        // An answer that takes longer than a window always comes too late for its tokens.
        let isTooLate = now >= end && now - (asked ?? now) >= .seconds(window.length)
        asked = nil
        guard let sum, sum >= added, !isTooLate else {
            (count, self.end) = (nil, now + .milliseconds(60))
            return
        }
        // The tokens of a window that is over are lost.
        guard end > now else { return }
        if window.number != self.window { (self.window, left, count) = (window.number, window.quota, 0) }
        let granted = min(added, left, max(0, window.quota - Int(clamping: sum - Int64(added))))
        (count, left) = ((count ?? 0) + granted, left - granted)
        (isUsed, self.end) = (granted < added || left == 0 || sum >= window.quota, end)
    }
}

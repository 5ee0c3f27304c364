import Foundation
import HTTPTypes
import Synchronization

/// The validations in the background of a cache: one at a time for each key, with pauses after failures.
///
/// No caller waits for them, so that no caller learns of a failure and comes back later. Without a pause, each request for
/// a stale response would send one more request to a server in trouble.
final class BackgroundValidations: Sendable {
    /// Whether a validation begins, or the reason why it does not.
    enum Beginning: Sendable, Hashable {
        case begins
        /// Another one for the key is under way.
        case underWay
        /// The last ones have failed, and the next one begins when a pause is over.
        case pausing
    }

    /// The outcome of a validation.
    enum Outcome: Sendable, Hashable {
        case success
        /// The server could not be reached, or is in trouble; with the time for which it asks to wait.
        case failure(asking: Duration?)
        /// The validation was cancelled, which tells nothing about the server.
        case cancelled
    }

    private struct Course {
        var isUnderWay = true
        var failures = 0
        var pauseEnd: ContinuousClock.Instant?
    }

    static let longestPause = Duration.seconds(300)
    /// The longest pause that a server gets which asks for one.
    static let longestAskedPause = Duration.seconds(3600)
    private let limit: Int
    private let courses = Mutex<[ResponseKey: Course]>([:])

    /// Creates validations, of which none is under way.
    ///
    /// - Parameter limit: The number of keys whose failures are remembered.
    init(rememberingFailuresOf limit: Int = 1000) {
        self.limit = limit
    }

    /// Begins a validation of a key, unless another is under way or failures forbid it; pass its outcome to ``end(_:as:at:)``.
    func begin(_ key: ResponseKey, at now: ContinuousClock.Instant) -> Beginning {
        courses.withLock { courses in
            guard let course = courses[key] else {
                courses[key] = Course()
                return .begins
            }
            if course.isUnderWay { return .underWay }
            if let end = course.pauseEnd, now < end { return .pausing }
            courses[key]?.isUnderWay = true
            return .begins
        }
    }

    /// Ends the validation of a key; a success ends the pauses too.
    func end(_ key: ResponseKey, as outcome: Outcome, at now: ContinuousClock.Instant) {
        courses.withLock { courses in
            guard var course = courses.removeValue(forKey: key) else { return }
            switch outcome {
            case .success: return
            case .cancelled where course.failures == 0: return
            case .cancelled: break
            case .failure(let asked):
                course.failures += 1
                course.pauseEnd = now + Self.pause(after: course.failures, asking: asked)
            }
            course.isUnderWay = false
            if courses.count >= limit, let other = courses.first(where: { !$0.value.isUnderWay }) {
                courses[other.key] = nil
            }
            courses[key] = course
        }
    }

    /// Ends the pause of a key whose server has answered another request.
    func endPause(of key: ResponseKey) {
        courses.withLock { courses in
            guard !courses.isEmpty, let course = courses[key], !course.isUnderWay else { return }
            courses[key] = nil
        }
    }

    /// The pause after a number of failures: a second, then twice as long each time, up to five minutes; longer where the
    /// server asks for more.
    static func pause(after failures: Int, asking asked: Duration?) -> Duration {
        let pause = min(.seconds(1 << min(max(0, failures - 1), 16)), longestPause)
        return max(pause, min(asked ?? .zero, longestAskedPause))
    }

    /// The number of keys that are under way or in a pause.
    var count: Int { courses.withLock { $0.count } }
}

extension BackgroundValidations.Outcome {
    /// The outcome of a validation that got a response at a date.
    init(_ head: HTTPResponse, at date: Date) {
        self =
            head.status.kind == .serverError || head.status == .tooManyRequests
            ? .failure(asking: AskedWait.duration(in: head.headerFields, at: date)) : .success
    }

    /// The outcome of a validation that failed.
    init(_ error: any Error) {
        self = error is CancellationError ? .cancelled : .failure(asking: nil)
    }
}

extension BackgroundValidations.Beginning {
    /// The beginning in words, after those about a stale response.
    var words: String {
        switch self {
        case .begins: "and validates it in the background"
        case .underWay: "while the background asks about this resource already"
        case .pausing: "and validates it later, since validations have failed"
        }
    }
}

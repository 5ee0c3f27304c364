import Foundation
import HTTPTypes
import Synchronization

/// The validations in the background of a cache: one at a time for each key, with pauses after failures.
///
/// No caller waits for them, so that no caller learns of a failure and comes back later. Without a pause, each request for
/// a stale response would send one more request to a server in trouble.
final class BackgroundValidations: Sendable {
    /// The outcome of a validation.
    enum Outcome: Sendable, Hashable {
        case success
        /// The server could not be reached, or is in trouble; with the time for which it asks to wait.
        case failure(asking: Duration?)
        /// The validation was cancelled, which tells nothing about the server.
        case cancelled

        /// The outcome of a validation that got a response at a date.
        init(_ head: HTTPResponse, at date: Date) {
            self =
                head.status.kind == .serverError || head.status == .tooManyRequests
                ? .failure(asking: AskedWait.duration(in: head.headerFields, at: date)) : .success
        }
    }

    private struct Course {
        var isUnderWay = true
        var failures = 0
        var pauseEnd: ContinuousClock.Instant?
    }

    private let limit: Int
    private let courses = Mutex<[ResponseKey: Course]>([:])

    /// Creates an empty value, which remembers the failures of a limited number of keys.
    init(rememberingFailuresOf limit: Int = 1000) {
        self.limit = limit
    }

    /// Begins a validation of a key, whose outcome ``end(_:as:at:)`` gets; returns false if another one is under way, or a
    /// pause after failures.
    func begin(_ key: ResponseKey, at now: ContinuousClock.Instant) -> Bool {
        courses.withLock { courses in
            guard let course = courses[key] else {
                courses[key] = Course()
                return true
            }
            if course.isUnderWay || course.pauseEnd.map({ now < $0 }) ?? false { return false }
            courses[key]?.isUnderWay = true
            return true
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

    /// The pause after a number of failures: a second, then twice as long each time, up to five minutes; longer, up to an
    /// hour, if the server asks for more.
    static func pause(after failures: Int, asking asked: Duration?) -> Duration {
        let pause = min(.seconds(1 << min(max(0, failures - 1), 16)), Duration.seconds(300))
        return max(pause, min(asked ?? .zero, .seconds(3600)))
    }

    /// The number of keys that are under way or in a pause.
    var count: Int { courses.withLock { $0.count } }
}

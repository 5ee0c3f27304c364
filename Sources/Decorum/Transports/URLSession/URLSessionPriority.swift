import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension TaskPriority {
    /// The priority of a task of a session, from 0 to 1, where a task without a priority has 0.5.
    var ofURLSessionTask: Float {
        switch self {
        case .high...: URLSessionTask.highPriority
        case .medium...: URLSessionTask.defaultPriority
        case .low...: URLSessionTask.lowPriority
        default: URLSessionTask.lowPriority / 2
        }
    }
}

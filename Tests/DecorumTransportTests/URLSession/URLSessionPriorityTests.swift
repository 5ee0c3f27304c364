import Foundation
import Testing

@testable import Decorum

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite struct URLSessionPriorityTests {
    private static let priorities: [(TaskPriority, Float)] = [
        (.high, URLSessionTask.highPriority), (.userInitiated, URLSessionTask.highPriority),
        (.medium, URLSessionTask.defaultPriority), (.utility, URLSessionTask.lowPriority),
        (.low, URLSessionTask.lowPriority), (.background, 0.125), (TaskPriority(rawValue: 255), 0.75),
        (TaskPriority(rawValue: 0), 0.125),
    ]

    @Test(arguments: priorities)
    func `A task has the priority of its request`(priority: TaskPriority, expected: Float) {
        #expect(priority.ofURLSessionTask == expected)
        #expect((0...1).contains(priority.ofURLSessionTask))
    }
}

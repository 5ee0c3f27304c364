#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking

/// No flow control: URLSession on Linux cannot hold a server back, so unread bytes go to the disk.
///
/// Suspending a task would close its connection, and resuming it would send its request a second time.
struct URLSessionFlowControl: Sendable {
    let isHoldingBack = false

    func received(by buffer: URLSessionResponseBuffer, _ task: URLSessionTask?, on control: DispatchQueue) {}

    func read(from buffer: URLSessionResponseBuffer) -> Bool { false }
}
#endif

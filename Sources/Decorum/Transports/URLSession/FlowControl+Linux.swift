#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking

/// Nothing: URLSession on Linux cannot hold a server back, so what is not read yet goes to the disk.
///
/// A task that is suspended closes its connection, and sends its request a second time when it is resumed.
struct FlowControl: Sendable {
    let isHoldingBack = false

    func received(by buffer: ResponseBuffer, _ task: URLSessionTask?, on control: DispatchQueue) {}

    func read(from buffer: ResponseBuffer) -> Bool { false }
}
#endif

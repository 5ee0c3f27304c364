public import Decorum
import Foundation
import HTTPTypes
import Synchronization

extension Connection {
    /// Continues the body of a response in place when it breaks off midway, so that its reader notices nothing.
    ///
    /// The layer asks for the rest (`Range` with a strong validator in `If-Range`, RFC 9110, section 13.1.5), and goes on if
    /// the answer is that part of the same content; otherwise, the reader gets the failure.
    ///
    /// It continues a 200 to a `GET` without content and `Range`, if the response has a strong validator and a known length,
    /// but not after a failure at a deadline. All attempts of one body count together, whether they bring bytes or not.
    ///
    /// Place it outside of `retrying` and of layers that sign or add credentials, and inside of `decompressing`.
    public func resumingBodies(
        _ policy: ResumptionPolicy = .standard, clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator()
    ) -> some Connection {
        BodyResumingConnection(base: self, policy: policy, clock: clock, generator: generator)
    }
}

/// How often a transfer goes on after a break.
///
/// Before each attempt, it waits for a random part of 0.5, 1, 2, 4, 8, 16 and then 20 seconds, or as long as the server asks;
/// a `Retry-After` of more than a minute ends the transfer.
public struct ResumptionPolicy: Sendable, Hashable {
    /// The number of attempts in a row without a further byte; for `resumingBodies(_:)`, of all attempts of one body.
    public var attempts: Int

    /// Creates a policy.
    public init(attempts: Int = 5) { self.attempts = attempts }

    /// Five attempts in a row without a byte.
    public static let standard = ResumptionPolicy()

    fileprivate var retries: RetryPolicy { RetryPolicy(retries: attempts) }

    func wait(afterFailures failures: Int, asked: Duration?, using generator: any RandomGenerator) -> Duration? {
        guard failures < attempts, asked ?? .zero <= retries.maximumRetryAfter else { return nil }
        return (asked.map(AskedWait.spread) ?? retries.backoff(afterRetries: failures)).random(using: generator)
    }
}

extension ResponseMetadata {
    /// The number of times that the body has been continued so far, which grows while it is read.
    public var bodyResumptions: Int { self[BodyResumptionsKey.self]?.value.load(ordering: .relaxed) ?? 0 }
}

private enum BodyResumptionsKey: ResponseMetadataKey { static let defaultValue: ResumptionCount? = nil }

private final class ResumptionCount: Sendable { let value = Atomic(0) }

struct BodyResumingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let policy: ResumptionPolicy
    let clock: any DatedClock
    let generator: any RandomGenerator

    var layer: Layer {
        // Its role is not that of retries, since it has returned the response before it sends again.
        let attempts = max(0, policy.attempts)
        return Layer(
            name: "resumingBodies", settings: [.init("attempts", attempts)],
            facts: attempts > 0 ? Layer.facts(of: clock).union([.changesSignedParts]) : [],
            sending: .init(1...(min(attempts, .max - 1) + 1)), time: .init(waiting: policy.retries.longestWait))
    }

    func send(_ request: consuming Request) async throws -> Response {
        let original = request
        var response = try await base.send(original)
        // The request for the rest accepts the same codings.
        guard policy.attempts > 0, original.head.method == .get, original.body.isEmpty,
            !original.head.headerFields.contains(.range), response.status == .ok, response.body.bytes == nil,
            let length = response.body.length, response.metadata.decodedContentCodings.isEmpty,
            let validator = DownloadDecision.validator(of: response.head)
        else { return response }
        let count = ResumptionCount()
        let (body, coding) = (response.body, DownloadDecision.coding(of: response.head))
        response.metadata[BodyResumptionsKey.self] = count
        response.body = Body(length: length, replay: .once) { _ in
            ResumingBodyReader(
                reader: try await body.open(), layer: self, original: original,
                content: DownloadContent(validator: validator, length: length, coding: coding), length: length,
                count: count)
        }
        return response
    }
}

private struct ResumingBodyReader<Base: Connection>: BodyReader {
    var reader: any BodyReader
    let layer: BodyResumingConnection<Base>
    let original: Request
    let content: DownloadContent
    let length: Int64
    let count: ResumptionCount
    var offset: Int64 = 0
    var attempts = 0

    mutating func next() async throws -> Data? {
        while true {
            let failure: any Error
            do {
                if let chunk = try await reader.next() {
                    offset += Int64(chunk.count)
                    return chunk
                }
                guard offset < length else { return nil }
                failure = BodyLengthError()
            } catch {
                failure = error
            }
            let isLate = (failure as? TransportError)?.code == .deadlineExceeded
            guard offset > 0, offset < length, !isLate, !(failure is CancellationError) else { throw failure }
            try await resume(after: failure)
        }
    }

    private mutating func resume(after failure: any Error) async throws {
        var request = original
        request.head.headerFields.ask(for: offset..<Int64.max, of: content.validator)
        // The deadline was for the head that has arrived.
        request.options.deadline = request.options.bodyDeadline
        request.options.acceptedStatuses = .all
        var asked: Duration?
        attempts: while let wait = layer.policy.wait(afterFailures: attempts, asked: asked, using: layer.generator) {
            attempts += 1
            try await layer.clock.sleep(for: wait)
            do {
                let response = try await layer.base.send(request)
                switch DownloadDecision.step(
                    after: response, asking: offset..<Int64.max, of: content, arrived: offset)
                {
                case .take(let bytes, _) where bytes.upperBound == length:
                    reader = try await response.body.open()
                    count.value.add(1, ordering: .relaxed)
                    return
                case .wait: asked = AskedWait.duration(in: response.head.headerFields, at: layer.clock.date)
                default: break attempts
                }
            } catch let error as any TemporaryError where error.mayPass {
                asked = error.askedWait(at: layer.clock.now)
            } catch  where !(error is CancellationError) {
                break
            }
        }
        throw failure
    }

    var trailers: HTTPFields? { reader.trailers }
}

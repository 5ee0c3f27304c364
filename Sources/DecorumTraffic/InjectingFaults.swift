public import Decorum
import Foundation
public import HTTPTypes

extension Connection {
    /// Makes a connection as bad as some networks and servers, for tests and drills.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .injectingFaults(
    ///         .delay(.milliseconds(50)...(.milliseconds(400))), .bandwidth(100_000), .loss(rate: 0.02),
    ///         .status(.serviceUnavailable, rate: 0.05), generator: SeededGenerator(seed: 7)
    ///     )
    ///     .retrying()
    /// ```
    ///
    /// Each request gets each fault with its rate, in the order of the list: all delays, the lowest bandwidth, and the first
    /// loss or status; the last two send nothing. With one seed and one order of requests, the same requests get the same
    /// faults.
    ///
    /// Nobody mistakes a fault for the work of a server: `injectedFaults` and the history of the call name it, as do errors in
    /// `detail`. A response with a forced status or with corrupt content has `Cache-Control: no-store`.
    ///
    /// The waits end at `deadline`, and within a body at `bodyDeadline`, with the error of a transport. A body is read no
    /// faster than its reader asks for it. `allowsFaults` leaves a request alone.
    ///
    /// Place it innermost, where the network is, so that every other layer is tried out.
    ///
    /// - Parameters:
    ///   - faults: The faults.
    ///   - isAffected: Whether a request gets faults; by default, each does.
    ///   - clock: The clock that waits.
    ///   - generator: The source of chance.
    /// - Returns: A connection with the faults.
    public func injectingFaults(
        _ faults: Fault..., to isAffected: @escaping @Sendable (_ request: borrowing Request) -> Bool = { _ in true },
        clock: any DatedClock = SystemClock(), generator: any RandomGenerator = SystemGenerator()
    ) -> some Connection {
        InjectingFaultsConnection(
            base: self, faults: faults, isAffected: isAffected, clock: clock, generator: generator)
    }
}

/// A fault of a network or a server, and the share of requests that get it, from 0 for none to 1 for all.
public enum Fault: Sendable, Hashable, CustomStringConvertible {
    /// A wait of a random length before the request is sent; a negative one is no wait.
    case delay(ClosedRange<Duration>, rate: Double = 1)
    /// The number of bytes that pass in a second, of the content of the request and of the response each; at least 1.
    case bandwidth(Int, rate: Double = 1)
    /// A lost connection, before the head of a response; the request is not sent.
    case loss(rate: Double)
    /// An empty response with a status in place of the server's; the request is not sent.
    case status(HTTPResponse.Status, rate: Double)
    /// Content that ends too early, with the error of a transport.
    case truncation(rate: Double)
    /// Content with a wrong byte in each chunk.
    case corruption(rate: Double)

    /// A wait before the request is sent.
    public static func delay(_ time: Duration, rate: Double = 1) -> Fault { .delay(time...time, rate: rate) }

    fileprivate var rate: Double {
        switch self {
        case .delay(_, let rate), .bandwidth(_, let rate), .loss(let rate), .status(_, let rate),
            .truncation(let rate), .corruption(let rate):
            rate
        }
    }

    /// Whether the rate is a share, and the fault is one that can be.
    fileprivate var isSound: Bool {
        switch self {
        case .delay(let range, _) where range.lowerBound < .zero: false
        case .bandwidth(..<1, _): false
        default: (0...1).contains(rate)
        }
    }

    /// The fault and its rate, as in `loss (0.02)`.
    public var description: String {
        let words =
            switch self {
            case .delay(let range, _) where range.lowerBound == range.upperBound: "delay of \(range.lowerBound)"
            case .delay(let range, _): "delay of \(range.lowerBound) to \(range.upperBound)"
            case .bandwidth(let count, _): "\(count) bytes a second"
            case .loss: "loss"
            case .status(let status, _): "status \(status.code)"
            case .truncation: "truncation"
            case .corruption: "corruption"
            }
        return rate >= 1 ? words : "\(words) (\(rate))"
    }
}

extension RequestOptions {
    /// Whether the request may get faults by `injectingFaults(_:to:clock:generator:)`; true by default.
    public var allowsFaults: Bool {
        get { self[AllowsFaultsKey.self] }
        set { self[AllowsFaultsKey.self] = newValue }
    }
}

private enum AllowsFaultsKey: RequestOptionKey {
    static let defaultValue = true
    static let travels: OptionTravel = [.all, .comparedWhenShared]
}

extension ResponseMetadata {
    /// The faults that the exchange got on purpose; empty for a response as the server gave it.
    public var injectedFaults: [Fault] {
        get { self[InjectedFaultsKey.self] }
        set { self[InjectedFaultsKey.self] = newValue }
    }
}

private enum InjectedFaultsKey: ResponseMetadataKey { static let defaultValue: [Fault] = [] }

extension ResponseMetadata.Source {
    /// A response with a status that `injectingFaults(_:to:clock:generator:)` forces.
    public static let injectedFault = ResponseMetadata.Source("injected fault")
}

extension CallDecision.Kind {
    /// The layer makes a fault on purpose.
    public static let injectsFaults = CallDecision.Kind("injects faults")
}

/// The faults of one exchange.
struct FaultPlan: Equatable {
    private(set) var faults: [Fault] = []
    private(set) var delay = Duration.zero
    private(set) var bandwidth: Int?
    /// The loss or the status of an exchange that is not sent.
    private(set) var ending: Fault?
    /// The part of the content after which it ends.
    private(set) var end: Double?
    /// The seed of the bytes that are changed.
    private(set) var corruption: UInt64?

    /// Draws the faults: two numbers for each fault, so that no rate decides about the numbers of another one.
    init(_ candidates: [Fault], _ generator: any RandomGenerator) {
        for fault in candidates {
            let (isDrawn, number) = (generator.uniform() < fault.rate, generator.next())
            guard isDrawn else { continue }
            let part = Double(number >> 11) * 0x1p-53
            switch fault {
            case .delay(let range, _):
                let (shortest, longest) = (range.lowerBound.bounded, range.upperBound.bounded)
                delay = (delay + max(.zero, shortest + (longest - shortest) * part)).bounded
            case .bandwidth(let count, _): bandwidth = max(1, min(count, bandwidth ?? count))
            case .loss, .status:
                guard ending == nil else { continue }
                ending = fault
            case .truncation: end = part
            case .corruption: corruption = number
            }
            faults.append(fault)
        }
    }
}

struct InjectingFaultsConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let faults: [Fault]
    let isAffected: @Sendable (borrowing Request) -> Bool
    let clock: any DatedClock
    let generator: any RandomGenerator

    var layer: Layer {
        var facts: Set<Layer.Fact> = [.injectsFaults]
        var (least, wait, isSlow) = (1, Duration.zero, false)
        for fault in faults where fault.rate > 0 {
            switch fault {
            case .delay(let range, _): wait = (wait + max(.zero, range.upperBound.bounded)).bounded
            case .bandwidth: isSlow = true
            case .loss: (facts, least) = (facts.union([.refuses]), 0)
            case .status: (facts, least) = (facts.union([.answers, .inventsAnswers]), 0)
            case .truncation: break
            case .corruption: facts.insert(.changesResponse)
            }
        }
        if isSlow || wait > .zero { facts.formUnion(Layer.facts(of: clock)) }
        if !faults.allSatisfy(\.isSound) { facts.insert(.unsoundSettings) }
        return Layer(
            name: "injectingFaults", role: Layer.Role("faults"), settings: [.init("faults", faults)], facts: facts,
            sending: .init(least...1), time: .init(waiting: isSlow ? .unbounded : .atMost(wait)))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        guard request.options.allowsFaults, isAffected(request) else { return try await base.send(request) }
        let plan = FaultPlan(faults, generator)
        guard !plan.faults.isEmpty else { return try await base.send(request) }
        return try await send(request, with: plan)
    }

    private func send(_ request: consuming Request, with plan: FaultPlan) async throws -> Response {
        let words = plan.faults.map(\.description).joined(separator: ", ")
        request.options.callContext?.note(CallDecision(.injectsFaults, by: "injectingFaults", "injects \(words)"))
        try Task.checkCancellation()
        let exchange = FaultyExchange(
            request: Request(head: request.head, options: request.options), clock: clock, start: clock.now)
        if plan.delay > .zero {
            let deadlines = [request.options.deadline, request.options.bodyDeadline]
            try await exchange.wait(for: plan.delay, until: deadlines.compactMap(\.self).min(), at: .head)
        }
        var response: Response
        switch plan.ending {
        case nil:
            if plan.bandwidth != nil {
                // The transport ends an upload that is too slow.
                request.body = request.body.read { reader, _ in
                    FaultyBodyReader(reader: reader, exchange: exchange, bandwidth: plan.bandwidth)
                }
            }
            response = try await base.send(request)
            exchange.spoil(&response, by: plan)
        case .status(let status, _):
            response = Response(status: status, fields: [.cacheControl: "no-store"])
            response.metadata = ResponseMetadata(answering: request, from: .injectedFault)
        default: throw exchange.error(.connectionLost, at: .head)
        }
        response.metadata.injectedFaults = plan.faults + response.metadata.injectedFaults
        return response
    }
}

/// An exchange with faults, for its waits and errors.
private struct FaultyExchange: Sendable {
    /// The request without its body.
    let request: Request
    let clock: any DatedClock
    let start: ContinuousClock.Instant

    func error(_ code: TransportError.Code, at stage: TransportError.Stage) -> any Error {
        var error = TransportError(code, at: stage)
        error.detail = "by injectingFaults"
        return TransportError.locate(error, in: request, after: clock.now - start)
    }

    /// Waits for a time, or until a deadline, at which the exchange fails.
    func wait(
        for time: Duration, until deadline: ContinuousClock.Instant?, at stage: TransportError.Stage
    ) async throws {
        let end = clock.instant(after: time)
        try await clock.sleep(until: min(end, deadline ?? end), tolerance: nil)
        if let deadline, deadline <= end { throw error(.deadlineExceeded, at: stage) }
    }

    /// Slows the content of a response, ends it too early, or changes it.
    func spoil(_ response: inout Response, by plan: FaultPlan) {
        guard !response.body.isEmpty, plan.bandwidth != nil || plan.end != nil || plan.corruption != nil else { return }
        // A cache would give the corrupt content when the drill is over.
        if plan.corruption != nil { response.head.headerFields[.cacheControl] = "no-store" }
        // Content of an unknown length may be short.
        let end = plan.end.map { Int64($0 * Double(response.body.length ?? 1 << 10)) }
        response.body = response.body.read { reader, offset in
            FaultyBodyReader(
                reader: reader, exchange: self, bandwidth: plan.bandwidth, left: end.map { max(0, $0 - offset) },
                corruption: plan.corruption.map { SeededGenerator(seed: $0) },
                deadline: request.options.bodyDeadline)
        }
    }
}

/// Reads a body slowly, changes it, or ends it too early.
private struct FaultyBodyReader: BodyReader {
    var reader: any BodyReader
    let exchange: FaultyExchange
    let bandwidth: Int?
    /// The number of bytes until the content ends too early.
    var left: Int64?
    var corruption: SeededGenerator?
    var deadline: ContinuousClock.Instant?
    var rest = Data()

    mutating func next() async throws -> Data? {
        if rest.isEmpty {
            guard left != 0, let chunk = try await reader.next() else {
                guard left == nil else { throw exchange.error(.truncated, at: .body) }
                return nil
            }
            rest = corrupted(chunk).prefix(Int(min(left ?? .max, Int64(chunk.count))))
            left = left.map { $0 - Int64(rest.count) }
        }
        guard let bandwidth else {
            defer { rest = Data() }
            return rest
        }
        // Ten pieces a second, so that a slow body is no body that stalls.
        let piece = rest.prefix(max(1, bandwidth / 10))
        try await exchange.wait(for: .seconds(1) * piece.count / bandwidth, until: deadline, at: .body)
        rest = rest.dropFirst(piece.count)
        return piece
    }

    private func corrupted(_ chunk: Data) -> Data {
        guard let corruption, !chunk.isEmpty else { return chunk }
        var chunk = chunk
        let index = chunk.startIndex + Int(corruption.next() % UInt64(chunk.count))
        chunk[index] ^= UInt8(truncatingIfNeeded: corruption.next()) | 1
        return chunk
    }

    var trailers: HTTPFields? { reader.trailers }
}

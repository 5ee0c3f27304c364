import Decorum
import DecorumProbe
import DecorumTesting
import Foundation

/// A workload of a client, in a separate process so that only its own time and memory are measured.
struct Exchanging {
    enum Workload: String, Sendable, Codable, CaseIterable {
        /// Small requests, one after the other.
        case sequential
        /// Small requests, 64 at a time.
        case concurrent
        /// Small requests, 512 at a time.
        case crowd512 = "512 under way"
        /// Small requests, 2,000 at a time.
        case crowd2000 = "2,000 under way"
        /// Small requests, 10,000 at a time.
        case crowd10000 = "10,000 under way"
        /// One large answer.
        case down
        /// One large request.
        case up

        /// The number of small requests at a time.
        var concurrency: Int {
            switch self {
            case .sequential, .down, .up: 1
            case .concurrent: Exchanging.connections
            case .crowd512: 512
            case .crowd2000: 2000
            case .crowd10000: 10_000
            }
        }

        /// Whether the cost of a request is compared with the cost for the same client at 64 at a time.
        var isCrowd: Bool { concurrency > Exchanging.connections }

        /// Whether one large body is transferred.
        var isTransfer: Bool { self == .down || self == .up }
    }

    /// The number of connections of each client.
    static let connections = 64

    private let arguments: Arguments
    private let subject: Subject
    private let workload: Workload
    private let origin: Origin

    init(_ arguments: Arguments) throws {
        guard let workload = arguments.workload.flatMap(Workload.init), let url = arguments.origin,
            let subject = Subject.all.first(where: { $0.name == arguments.filter })
        else { throw BenchmarkFailure(Arguments.usage) }
        self.arguments = arguments
        self.subject = subject
        self.workload = workload
        origin = try Origin(url)
    }

    /// Exchanges, and writes the measurements.
    func run() async throws {
        let client = try subject.client(origin)
        for _ in 0..<20 { try await client.get("\(origin)/small") }

        decorum_instructions_begin()
        let usage = (processor: ProcessUsage.processorTime, time: ProcessUsage.time)
        let count =
            switch workload {
            case .down: try await download(client)
            case .up: try await upload(client)
            default: try await getRepeatedly("\(origin)/small", client)
            }
        unsafe decorum_instructions_end(subject.name)
        let outcome = Outcome(
            rate: Double(count) / (ProcessUsage.time - usage.time) * 1e9,
            processorTime: (ProcessUsage.processorTime - usage.processor) / Double(count),
            peakMemory: ProcessMemory.peak)
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(outcome))
    }

    private func getRepeatedly(_ url: String, _ client: any Client) async throws -> Int {
        // A number of requests ends before this time on any machine.
        let seconds = arguments.requests == nil ? 0.7 : 1000
        if let client = client as? any LoopingClient {
            return try client.getRepeatedly(
                url, concurrency: workload.concurrency, seconds: seconds, upTo: arguments.requests ?? .max)
        }
        let limit = arguments.requests.map { $0 / workload.concurrency } ?? .max
        let end = ProcessUsage.time + seconds * 1e9
        return try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<workload.concurrency {
                group.addTask {
                    var count = 0
                    while count < limit, ProcessUsage.time < end {
                        // Each worker has a different URL, because a stack coalesces identical requests.
                        try await client.get("\(url)?worker=\(number)")
                        count += 1
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
    }

    private func download(_ client: any Client) async throws -> Int {
        let count = try await client.download("\(origin)/large")
        guard count == Int64(arguments.mebibytes) << 20 else { throw BenchmarkFailure("\(count) bytes arrived.") }
        return 1
    }

    private func upload(_ client: any Client) async throws -> Int {
        guard let file = arguments.file else { throw BenchmarkFailure(Arguments.usage) }
        try await client.upload(URL(filePath: file), to: "\(origin)/sink")
        return 1
    }
}

/// The measurements of a process that exchanges.
struct Outcome: Sendable, Codable {
    /// Exchanges per second.
    let rate: Double
    /// The processor time of one exchange, in nanoseconds.
    let processorTime: Double
    /// In bytes.
    let peakMemory: Int
}

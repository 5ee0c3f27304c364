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

        /// Whether the cost of a request is compared with that of the same client at 64 at a time.
        var isCrowd: Bool { concurrency > Exchanging.connections }
    }

    /// The number of connections of each client.
    static let connections = 64
    private static let time: Double = 7e8

    private let subject: Subject
    private let workload: Workload
    private let origin: Origin
    private let size: Int64
    /// The number of small requests; nil for as many as fit into the time.
    private let requests: Int?
    /// The file that is sent.
    private let file: String?

    init(_ arguments: Arguments) throws {
        guard let workload = arguments.workload.flatMap(Workload.init), let url = arguments.origin,
            let subject = Subject.all.first(where: { $0.name == arguments.filter })
        else { throw BenchmarkFailure(Arguments.usage) }
        self.subject = subject
        self.workload = workload
        origin = try Origin(url)
        size = Int64(arguments.mebibytes) << 20
        requests = arguments.requests
        file = arguments.file
    }

    /// Exchanges, and writes the measurements.
    func run() async throws {
        let client = try subject.client(origin)
        let small = "\(origin)/small"
        for _ in 0..<20 { try await client.get(small) }

        decorum_instructions_begin()
        let usage = (processor: ProcessUsage.processorTime, time: ProcessUsage.time)
        let count =
            switch workload {
            case .sequential: try await getRepeatedly(small, client)
            case .concurrent, .crowd512, .crowd2000, .crowd10000: try await getConcurrently(small, client)
            case .down: try await download(client)
            case .up: try await upload(client)
            }
        unsafe decorum_instructions_end(subject.name)
        let outcome = Outcome(
            count: count, time: ProcessUsage.time - usage.time,
            processorTime: ProcessUsage.processorTime - usage.processor, peakMemory: ProcessMemory.peak)
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(outcome))
    }

    private func getRepeatedly(_ url: String, _ client: any Client) async throws -> Int {
        if let client = client as? any LoopingClient {
            return try client.getRepeatedly(url, concurrency: 1, seconds: time / 1e9, upTo: requests ?? .max)
        }
        let limit = requests.map { $0 / workload.concurrency } ?? .max
        let end = ProcessUsage.time + time
        var count = 0
        while count < limit, ProcessUsage.time < end {
            try await client.get(url)
            count += 1
        }
        return count
    }

    private func getConcurrently(_ url: String, _ client: any Client) async throws -> Int {
        if let client = client as? any LoopingClient {
            return try client.getRepeatedly(
                url, concurrency: workload.concurrency, seconds: time / 1e9, upTo: requests ?? .max)
        }
        return try await withThrowingTaskGroup(of: Int.self) { group in
            // Each request has a different URL, because a stack coalesces identical ones.
            for number in 0..<workload.concurrency {
                group.addTask { try await getRepeatedly("\(url)?worker=\(number)", client) }
            }
            return try await group.reduce(0, +)
        }
    }

    /// How long small requests are repeated, in nanoseconds; with a number of them, long enough for any machine.
    private var time: Double { requests == nil ? Self.time : 1e12 }

    private func download(_ client: any Client) async throws -> Int {
        let count = try await client.download("\(origin)/large")
        guard count == size else { throw BenchmarkFailure("\(count) bytes arrived of \(size).") }
        return 1
    }

    private func upload(_ client: any Client) async throws -> Int {
        guard let file else { throw BenchmarkFailure(Arguments.usage) }
        try await client.upload(URL(filePath: file), to: "\(origin)/sink")
        return 1
    }
}

/// The measurements of an exchange.
struct Outcome: Sendable, Codable {
    let count: Int
    /// In nanoseconds.
    let time: Double
    /// In nanoseconds.
    let processorTime: Double
    /// In bytes.
    let peakMemory: Int
}

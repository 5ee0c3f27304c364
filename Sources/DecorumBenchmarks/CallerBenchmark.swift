import Decorum
import Foundation
import Synchronization

/// Measures answers from memory to a caller on the main actor, which must not be suspended for them.
struct CallerBenchmark {
    private let arguments: Arguments

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    @MainActor func measure() async throws -> [CallerReading] {
        var readings: [CallerReading] = []
        for (name, connection) in try Self.subjects where arguments.includes("caller/\(name)") {
            readings.append(try await measure("caller/\(name)", connection))
        }
        return readings
    }

    private static var subjects: [(String, any Connection)] {
        get throws {
            let memory = ThreadCheckingConnection()
            let fresh = MemoryConnection(fields: [.cacheControl: "max-age=86400"])
            let api = try Origin("https://api.example.com")
            return try [
                ("terminal", memory),
                ("revalidating", memory.revalidating(in: MemoryResponseStore())),
                ("caching, hit", fresh.caching(in: MemoryResponseStore())),
                ("canonical, hit", canonicalStack(over: fresh, for: api)),
            ]
        }
    }

    @MainActor private func measure(_ name: String, _ connection: any Connection) async throws -> CallerReading {
        let request = try Request.sample()
        // The first request fills the cache.
        _ = try await connection.send(request)
        // Rounds are short, so that some are not interrupted: this is wall-clock time, which includes hops.
        let count = 200
        var times: [Double] = []
        var hops = 0
        for _ in 0..<(arguments.rounds * 10) {
            // This task runs if the caller leaves the main actor.
            let intruder = Intruder()
            let task = Task { @MainActor in intruder.enter() }
            let start = ProcessUsage.time
            for _ in 0..<count { _ = try await connection.send(request) }
            times.append((ProcessUsage.time - start) / Double(count))
            hops += intruder.hasEntered ? 1 : 0
            await task.value
        }
        return CallerReading(
            name: name, median: times.median, minimum: times.min() ?? 0,
            hops: hops + ThreadCheckingConnection.takeStrays())
    }
}

/// The measurements of one connection.
struct CallerReading: Encodable {
    let name: String
    /// The time of one answer, in nanoseconds.
    let median: Double
    let minimum: Double
    /// How often the caller lost the main actor, or the transport ran elsewhere.
    let hops: Int

    var failures: [String] { hops == 0 ? [] : ["the caller lost the main actor \(hops) times"] }
}

extension CallerReading: Judged {
    var row: String { name }

    func value(of quantity: Target.Quantity) -> Double? { quantity == .time ? minimum / 1e3 : nil }
}

extension Table {
    init(_ readings: [CallerReading]) {
        header = ["answer from memory to the main actor", "µs", "µs min", "hops"]
        rows = readings.map { [$0.name, ($0.median / 1000).text, ($0.minimum / 1000).text, "\($0.hops)"] }
    }
}

@MainActor private final class Intruder {
    private(set) var hasEntered = false

    func enter() { hasEntered = true }
}

/// A transport in memory that counts the requests which reach it off the main thread.
private struct ThreadCheckingConnection: Connection {
    private static let strays = Atomic(0)
    private let memory = MemoryConnection()

    static func takeStrays() -> Int { strays.exchange(0, ordering: .relaxed) }

    func send(_ request: consuming Request) async throws -> Response {
        if !Thread.isMainThread { Self.strays.wrappingAdd(1, ordering: .relaxed) }
        return try await memory.send(request)
    }
}

import Decorum
import Foundation
import Synchronization

/// Measures answers from memory to a caller on the main actor, which must not be suspended for them.
enum CallerBenchmark {
    @MainActor static func measure(_ arguments: Arguments) async throws -> [Reading] {
        let memory = ThreadCheckingConnection()
        let fresh = MemoryConnection(fields: [.cacheControl: "max-age=86400"])
        let subjects: [(String, any Connection)] = [
            ("caller/terminal", memory),
            ("caller/revalidating", memory.revalidating(in: MemoryResponseStore())),
            ("caller/caching, hit", fresh.caching(in: MemoryResponseStore())),
            (
                "caller/canonical, hit",
                try canonicalStack(over: fresh, for: Origin("https://api.example.com"))
            ),
        ]
        var readings: [Reading] = []
        for (name, connection) in subjects where arguments.includes(name) {
            readings.append(try await measure(name, connection))
        }
        return readings
    }

    @MainActor private static func measure(_ name: String, _ connection: any Connection) async throws
        -> Reading
    {
        let request = try Request.sample()
        // The first request fills the cache.
        _ = try await connection.send(request)
        // Rounds are short, so that some are not interrupted: this is wall-clock time, which includes hops.
        let count = 200
        var times: [Double] = []
        var hops = 0
        for _ in 0..<(ProcessUsage.rounds * 10) {
            // This task runs if the caller leaves the main actor.
            let intruder = Intruder()
            let task = Task { @MainActor in intruder.enter() }
            let start = ProcessUsage.time
            for _ in 0..<count { _ = try await connection.send(request) }
            times.append((ProcessUsage.time - start) / Double(count) / 1e3)
            hops += intruder.hasEntered ? 1 : 0
            await task.value
        }
        return Reading(
            name,
            [
                .time: times.median, .leastTime: times.min(),
                .hops: Double(hops + ThreadCheckingConnection.takeStrays()),
            ], limits: [.hops: 0])
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

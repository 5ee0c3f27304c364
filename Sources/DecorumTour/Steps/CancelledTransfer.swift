import Decorum
import DecorumTesting

struct CancelledTransfer: Step {
    let title = "A cancelled transfer closes its connection at once"
    let pointer = "The time until the server sees the connection close."
    let code = "task.cancel()"

    func run(on stage: Stage) async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        origin.route(.get, "/endless", .generated(count: 1 << 40))
        let started = Gate()

        let connection = stage.connection
        let request = try Request.get("\(origin.url)/endless")
        stage.terminal.app("GET /endless, a body of 1 TiB")
        let transfer = Task {
            var count = 0
            for try await chunk in try await connection.send(request).body {
                count += chunk.count
                if count > 1 << 20 { started.open() }
            }
            return count
        }
        try await started.wait()
        let start = ContinuousClock.now
        transfer.cancel()
        var isCancellation = false
        do {
            _ = try await transfer.value
        } catch {
            isCancellation = error is CancellationError
        }
        try await origin.waitForOpenConnections(0)
        let elapsed = (ContinuousClock.now - start) / .milliseconds(1)

        stage.terminal.app(
            "cancelled after the first MiB; the origin saw the connection close within \(Int(elapsed) + 1) ms")
        try stage.check(isCancellation, "the reader gets a CancellationError")
    }
}

import Decorum
import DecorumTesting

struct LargeBody: Step {
    private static let size: Int64 = 100 << 20

    let title = "100 MiB stream through every layer in constant memory"
    let pointer = "The peak of the memory before and after."
    let code = "for try await chunk in response.body { … }"

    func run(on stage: Stage) async throws {
        stage.origin.route(.get, "/film", .generated(count: Self.size))
        stage.terminal.app("GET /film")
        let before = ProcessMemory.peak
        let response = try await stage.connection.send(stage.request("/film", as: "film"))

        var count: Int64 = 0
        var isIntact = true
        for try await chunk in response.body {
            isIntact = isIntact && BytePattern.matches(chunk, at: count)
            if (count + Int64(chunk.count)) / (Self.size / 4) > count / (Self.size / 4) {
                stage.terminal.app("\((count + Int64(chunk.count)) >> 20) MiB of \(Self.size >> 20)")
            }
            count += Int64(chunk.count)
        }
        let growth = ProcessMemory.peak - before
        stage.terminal.app(
            "read to the end; at its peak the process took \(before >> 20) MiB before, \(ProcessMemory.peak >> 20) MiB now"
        )

        try stage.check(count == Self.size, "every byte arrives")
        try stage.check(isIntact, "every byte is correct")
        try stage.check(before > 0 && growth < 32 << 20, "memory stays constant")
    }
}

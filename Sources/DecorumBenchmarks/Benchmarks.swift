import Foundation

/// Measures what Decorum costs; exits with 1 when something fails or exceeds its bound.
@main
struct Benchmarks {
    // Not async: an asynchronous main suspends the main thread in a way that ends valgrind.
    static func main() {
        removeVariables()
        Task.detached {
            do {
                try await run(Arguments(Array(CommandLine.arguments.dropFirst())))
                exit(0)
            } catch {
                try? FileHandle.standardError.write(contentsOf: Data("\(error)\n".utf8))
                exit(1)
            }
        }
        // Runs the jobs of the main actor.
        while true { RunLoop.main.run(until: .distantFuture) }
    }

    /// Leaves only the variables of the environment that a benchmark or its child processes need.
    ///
    /// A cassette looks through all variables for secrets, so the costs of opening one would depend on the machine.
    private static func removeVariables() {
        let kept = ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "DECORUM_SOAK"]
        for name in ProcessInfo.processInfo.environment.keys where !kept.contains(name) {
            // No other thread runs yet that could read the environment at the same time.
            unsafe unsetenv(name)
        }
    }

    private static func run(_ arguments: Arguments) async throws {
        switch arguments.mode {
        case .measure: try await MeasuringRun(arguments: arguments).run()
        case .count: try await InstructionCounting.perform(rows(arguments))
        case .serve: try OriginProcess.serve(mebibytes: arguments.mebibytes)
        case .exchange: try await Exchanging(arguments).run()
        case .help: print(Arguments.usage, terminator: "")
        }
    }

    /// The rows of operations in memory, with their baselines.
    static func rows(_ arguments: Arguments) throws -> [Row] {
        let rows =
            try LayerRows.rows() + DecoratorRows.rows() + CodingRows.rows() + UnderWayRows.rows() + StackRows.rows()
            + CassetteRows.rows() + CallRows.rows() + EventStreamRows.rows()
        let chosen = rows.filter { arguments.includes($0.name) }
        let baselines = Set(chosen.compactMap(\.baseline))
        return rows.filter { arguments.includes($0.name) || baselines.contains($0.name) }
    }
}

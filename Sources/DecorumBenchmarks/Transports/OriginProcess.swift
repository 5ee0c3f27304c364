import DecorumTesting
import Foundation
import HTTPTypes

/// A server in a separate process, so that its resource usage is not counted with that of the client.
struct OriginProcess {
    private let process: ChildProcess
    let url: String

    init(mebibytes: Int) throws {
        process = ChildProcess(ChildProcess.thisProgram, ["--serve", "--size", "\(mebibytes)"])
        url = try process.start()
        guard url.hasPrefix("http://") else { throw BenchmarkFailure("The server did not start.") }
    }

    func stop() throws {
        try process.finish()
    }

    /// Serves until the input ends.
    static func serve(mebibytes: Int) throws {
        let origin = try LoopbackOrigin(keepingBodiesUpTo: 0)
        defer { origin.stop() }
        origin.route(
            .get, "/small", .init(fields: ["Content-Type": "text/plain"], body: String(repeating: "x", count: 100)))
        origin.route(.get, "/large", .generated(count: Int64(mebibytes) << 20))
        origin.route(.put, "/sink", "ok")
        let forgetting = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: .milliseconds(100))
                origin.forgetRequests()
            }
        }
        defer { forgetting.cancel() }
        try FileHandle.standardOutput.write(contentsOf: Data((origin.url + "\n").utf8))
        _ = try FileHandle.standardInput.readToEnd()
    }
}

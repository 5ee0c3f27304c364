import Decorum
import DecorumTesting
import Foundation

struct CompressedAnswer: Step {
    /// A list of fifty items in gzip.
    private static let coded = Data(
        base64Encoded:
            "H4sIAAAAAAACA6tWyixJzS1WslKIrlbKS8xNBbKUSjJSFYqBbAWwgI6CUkFRZjJIxqBWR2FU2aiyUWWjykaVjSobVUYnZbG1ANu+dBOpBwAA"
    )

    let title = "A compressed answer is decoded while it is read"
    let pointer = "The number of bytes that came, and of those that were read."
    let code = ".decompressing()"

    func run(on stage: Stage) async throws {
        let coded = Self.coded ?? Data()
        stage.origin.route(.get, "/list", LoopbackOrigin.Answer(fields: ["Content-Encoding": "gzip"], body: coded))
        stage.terminal.app("GET /list")
        let response = try await stage.connection.send(stage.request("/list", as: "list"))
        let text = try await response.body.text(upTo: 1 << 20)
        stage.terminal.app("\(coded.count) bytes came, and \(text.utf8.count) were read: \(text.prefix(40))…")

        try stage.check(text.utf8.count == 1961, "all of the content is read")
        try stage.check(response.metadata.decodedContentCodings == ["gzip"], "the metadata has the coding")
        try stage.check(
            !response.head.headerFields.contains(.contentEncoding), "the head no longer says that it is coded")
    }
}

import Decorum
import DecorumTesting
import Foundation

extension Step {
    static let recordedSession = Step(
        "A session is recorded, and replayed without a server",
        look: "The file: the signature has a placeholder, and the second run needs no server.",
        code: "CassetteConnection(cassette)"
    ) { stage in
        let folder = FileManager.default.temporaryDirectory.appending(path: "decorum-tour-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "session.json").path
        func tell(on stage: Stage) async throws {
            for step in [Step.revalidation, .redirection, .retry, .signedRequest] { try await step.run(stage) }
        }
        stage.terminal.text("Recording, with the server:")
        let recording = try Cassette(at: path, mode: .once)
        try await tell(on: Stage(terminal: stage.terminal, over: stage, transport: CassetteConnection(recording)))
        try await recording.finish()

        stage.close()
        stage.terminal.text("Replaying, with the server stopped:")
        let replaying = try Cassette(at: path)
        try await tell(on: Stage(terminal: stage.terminal, over: stage, transport: CassetteConnection(replaying)))
        try await replaying.finish()
        let text = try String(contentsOfFile: path, encoding: .utf8)
        stage.terminal.text(lines: text.split(separator: "\n").prefix(16).joined(separator: "\n"))
        try stage.check(replaying.mode == .replay, "the second run answered from the file alone")
        try stage.check(text.contains("Checksum __credentials-1__"), "the signature has a placeholder in the file")
    }
}

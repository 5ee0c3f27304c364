import Decorum
import DecorumTesting
import Foundation

struct RecordedSession: Step {
    let title = "A session is recorded, and replayed without a server"
    let pointer = "The file: the signature has a placeholder, and the second run needs no server."
    let code = "CassetteConnection(cassette)"

    private let steps: [any Step] = [Revalidation(), Redirection(), Retry(), SignedRequest()]

    func run(on stage: Stage) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "decorum-tour-\(UInt64.random(in: 0 ... .max))")
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "session.json").path

        stage.terminal.text("Recording, with the server:")
        let recording = try Cassette(at: path, mode: .once)
        try await tell(on: stage.anew(on: CassetteConnection(recording, recording: SystemConnection())))
        try await recording.finish()

        stage.close()
        stage.terminal.text("Replaying, with the server stopped:")
        let replaying = try Cassette(at: path)
        try await tell(on: stage.anew(on: CassetteConnection(replaying)))
        try await replaying.finish()

        let text = try String(contentsOfFile: path, encoding: .utf8)
        for line in text.split(separator: "\n").prefix(16) { stage.terminal.text(String(line)) }
        try stage.check(replaying.mode == .replay, "the second run answered from the file alone")
        try stage.check(text.contains("Checksum dec0de1"), "the signature has a placeholder in the file")
    }

    private func tell(on stage: Stage) async throws {
        for step in steps { try await step.run(on: stage) }
    }
}

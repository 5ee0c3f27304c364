import Decorum
import DecorumTesting

struct WrongOrder: Step {
    let title = "A wrong order is found before the first request, with the line to change and the worst case"
    let pointer = "The two findings, and the lines that they tell to move."
    let code = "print(connection.explain()); try connection.checked()"

    func run(on stage: Stage) async throws {
        let verifier = ChecksumSigner(key: Stage.key)
        stage.origin.route(.get, "/moved", LoopbackOrigin.Answer(.found, fields: ["Location": "/place"]))
        stage.origin.route(.get, "/place") { request in
            LoopbackOrigin.Answer(verifier.verifies(request) ? .ok : .unauthorized)
        }

        stage.terminal.app("a stack in the wrong order")
        let wrong = try wrongStack(on: stage)
        show(wrong, on: stage)
        do {
            _ = try wrong.checked()
            throw CheckFailure(description: "Not so: the check refuses the stack.")
        } catch let error as CompositionError {
            stage.terminal.app("checked() throws \(error.refused.map(\.hazard.description).joined(separator: " and "))")
            try stage.check(
                error.refused.map(\.hazard) == ["signatureOutsideOfRetries", "signatureOutsideOfRedirections"],
                "the signature is found at the wrong place")
        }
        let refused = try await send(over: wrong, on: stage)
        try stage.check(refused == .unauthorized, "the second request has the signature of the first")

        stage.terminal.app("the same layers, each where the findings say")
        let mended = try mendedStack(on: stage)
        show(mended, on: stage)
        try stage.check(mended.findings.isEmpty && stage.connection.findings.isEmpty, "there are no findings")
        let answered = try await send(over: mended, on: stage)
        try stage.check(answered == .ok, "each request has its own signature")
    }

    private func wrongStack(on stage: Stage) throws -> some Connection {
        try SystemConnection()
            .printingMessages(on: stage.terminal)
            .followingRedirects()
            .retrying()
            .authenticating(with: .signer(ChecksumSigner(key: Stage.key)), for: stage.origin.origin)
            .resolving(against: stage.origin.url)
            .observing(stage.statistics)
    }

    private func mendedStack(on stage: Stage) throws -> some Connection {
        try SystemConnection()
            .printingMessages(on: stage.terminal)
            .authenticating(with: .signer(ChecksumSigner(key: Stage.key)), for: stage.origin.origin)
            .retrying()
            .followingRedirects()
            .resolving(against: stage.origin.url)
            .limitingTime()
            .observing(stage.statistics)
            .checked(refusing: .information)
    }

    private func show(_ connection: some Connection, on stage: Stage) {
        for line in connection.explain().split(separator: "\n") { stage.terminal.text("  \(line)") }
    }

    private func send(over connection: some Connection, on stage: Stage) async throws -> HTTPResponse.Status {
        stage.terminal.app("GET /moved")
        let status = try await connection.send(.get("/moved")).status
        stage.terminal.app("\(status.code)")
        return status
    }
}

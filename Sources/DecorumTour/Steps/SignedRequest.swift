import Decorum
import DecorumTesting

struct SignedRequest: Step {
    let title = "A request is signed, and the origin verifies it"
    let pointer = "The field Authorization in the messages, whose value is not shown."
    let code = ".authenticating(with: .signer(signer), for: origin)"

    func run(on stage: Stage) async throws {
        let verifier = ChecksumSigner(key: Stage.key)
        stage.origin.route(.get, "/vault*") { request in
            verifier.verifies(request)
                ? LoopbackOrigin.Answer(body: "The signature is yours.") : LoopbackOrigin.Answer(.unauthorized)
        }

        let (_, text) = try await stage.get("/vault?drawer=7", as: "vault")
        try stage.check(text == "The signature is yours.", "the origin accepts the signature")

        var unsigned = try stage.request("/vault?drawer=7", as: "vault")
        unsigned.options.skipsAuthentication = true
        stage.terminal.app("the same, without a signature")
        do {
            _ = try await stage.connection.send(unsigned)
            throw CheckFailure(description: "Not so: the origin refuses a request without a signature.")
        } catch let error as StatusError {
            stage.terminal.app("\(error)")
            try stage.check(error.status == .unauthorized, "the status is 401")
        }
    }
}

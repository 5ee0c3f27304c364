import Decorum
import DecorumTesting

struct EndedTransfers: Step {
    let title = "All transfers of a transport end at once, as after a user has signed out"
    let pointer = "No layer sends one of the requests again, and the transport stays open."
    let code = "transport.cancelAll()"

    func run(on stage: Stage) async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let paths = ["/messages", "/photos", "/contacts"]
        for path in paths { origin.route(.get, path, .hanging) }
        origin.route(.get, "/news", .init(body: "nothing new"))

        let transport = SystemConnection()
        let connection = try stage.anew(on: transport).connection
        let requests = try paths.map { try Request.get("\(origin.url)\($0)") }
        let transfers = requests.map { request in Task { try await connection.send(request) } }
        stage.terminal.app("three requests, which the server does not answer")
        try await origin.waitForRequests(paths.count)
        transport.cancelAll()
        for transfer in transfers {
            var isCancellation = false
            do {
                _ = try await transfer.value
            } catch {
                isCancellation = error is CancellationError
            }
            try stage.check(isCancellation, "each caller gets a CancellationError")
        }
        let response = try await connection.send(.get("\(origin.url)/news"))
        let text = try await response.body.text(upTo: 1 << 10)

        stage.terminal.app("all three have ended; the next request is answered: \(text)")
        try stage.check(origin.requests.count == paths.count + 1, "no request is sent again")
    }
}

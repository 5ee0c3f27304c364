import Decorum
import DecorumTesting

struct ForeignRedirection: Step {
    let title = "A redirection to another origin sends no credentials there"
    let pointer = "The fields that the other origin received: neither Authorization nor Cookie is among them."
    let code = ".authenticating(with: .signer(signer), for: origin) … .followingRedirects()"

    func run(on stage: Stage) async throws {
        stage.otherOrigin.route(.get, "/landing", LoopbackOrigin.Answer(body: "Who are you?"))
        stage.origin.route(
            .get, "/leave",
            LoopbackOrigin.Answer(.found, fields: ["Location": "\(stage.otherOrigin.url)/landing"]))

        var request = try stage.request("/leave", as: "leave")
        request.head.headerFields[.cookie] = "session=secret"
        stage.terminal.app("GET /leave, with a cookie")
        let response = try await stage.connection.send(request)
        stage.terminal.app("\(response.status.code): \(try await response.body.text(upTo: 1000))")

        let sent = stage.origin.requests.last { $0.path == "/leave" }
        try stage.check(sent?.fields["Authorization"] != nil, "the credentials are sent to their own origin")
        try stage.check(sent?.fields["Cookie"] == "session=secret", "the first origin gets the cookie")
        let landed = stage.otherOrigin.requests.last
        stage.terminal.app(
            "the other origin received: \(landed?.fields.lines.map(\.name).joined(separator: ", ") ?? "nothing")")
        try stage.check(landed?.path == "/landing", "the other origin gets the request")
        try stage.check(landed?.fields["Authorization"] == nil, "the other origin gets no credentials")
        try stage.check(landed?.fields["Cookie"] == nil, "the other origin gets no cookie")
    }
}

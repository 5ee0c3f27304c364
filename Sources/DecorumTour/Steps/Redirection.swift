import Decorum
import DecorumTesting
import Foundation

struct Redirection: Step {
    let title = "A redirection to a moved page is followed: 301"
    let pointer = "The second request, and the fragment in the final URL."
    let code = ".followingRedirects()"

    func run(on stage: Stage) async throws {
        stage.origin.route(.get, "/old", LoopbackOrigin.Answer(.movedPermanently, fields: ["Location": "/new"]))
        stage.origin.route(.get, "/new", LoopbackOrigin.Answer(body: "I live here now."))

        let (response, text) = try await stage.get("/old#door", as: "moved")

        stage.terminal.app("it is from \(response.metadata.url?.absoluteString ?? "nowhere"), fragment kept")
        try stage.check(text == "I live here now.", "the answer comes from the new page")
        try stage.check(
            response.metadata.url?.absoluteString == "\(stage.origin.url)/new#door", "the URL is the new one")
        try stage.check(response.metadata.redirects.count == 1, "the metadata lists one redirection")
    }
}

import Decorum
import DecorumAuthentication
import DecorumSharedStorage
import DecorumTesting
import Foundation

extension Step {
    static let twoMachines = Step(
        title: "Two machines share a response and a token: what one has fetched, the other one does not ask for",
        look: "Each machine gets the menu. The origin is asked for it once, and for a new token once.",
        code: ".caching(in: SharedResponseStore(on: storage)), Tokens(in: SharedTokenStore(on: storage, …), …)"
    ) { stage in
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let server = SessionServer(on: origin)
        origin.route(.get, "/menu", .init(fields: ["Cache-Control": "max-age=60"], body: "tea, coffee"))
        // In place of Redis, and of a seal such as AES-GCM.
        let storage = MemorySharedStorage()
        let seal = SharedSeal(seal: { content, _ in content }, open: { sealed, _ in sealed })
        let old = try Token(server.accessToken(0), refreshToken: server.refreshToken(0))
        _ = try await SharedTokenStore(on: storage, named: "api", sealedBy: seal).replace(nil, with: old)
        for machine in 1...2 {
            let client = OAuthClient(
                "tour", of: try AuthorizationServer(token: "\(origin.url)/token"), over: SystemConnection())
            let tokens = Tokens(
                in: try SharedTokenStore(on: storage, named: "api", sealedBy: seal), from: client.refreshing(),
                servesOneUser: true)
            let connection = try stage.transport
                .authenticating(with: tokens, for: origin.origin)
                .retrying()
                .caching(in: SharedResponseStore(on: storage))
                .resolving(against: origin.url)
                .acting(for: Principal("service"))
            stage.terminal.app("machine \(machine)")
            for path in ["/menu", "/notes"] { _ = try await stage.get(path, over: connection) }
        }
        let (menus, refreshes) = (
            origin.requests.count { $0.path == "/menu" }, origin.requests.count { $0.path == "/token" }
        )
        try stage.check(menus == 1, "the second machine has the response of the first one")
        try stage.check(refreshes == 1, "the second machine has the new token of the first one")
    }
}

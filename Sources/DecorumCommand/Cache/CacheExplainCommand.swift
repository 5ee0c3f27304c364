#if CommandLine
import ArgumentParser
import Decorum
import Foundation

struct CacheExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Tells what a cache would do with a request, and by which rule.",
        discussion: "Nothing is sent.")

    @OptionGroup var cache: CacheArgument
    @Argument(help: "The URL.") var url: String
    @Option(help: ArgumentHelp("The user who asks.", valueName: "name")) var principal: String?
    @Option(
        name: [.customShort("H"), .long],
        help: ArgumentHelp("A field of the request; may be repeated.", valueName: "name: value"))
    var header: [String] = []
    @Option(
        help: ArgumentHelp("Settings of a stack, or a preset, for the rules of its cache.", valueName: "settings"),
        completion: .file(extensions: ["json"]))
    var stack: String?
    @OptionGroup(title: "OUTPUT") var output: FindingOptions

    func run() async throws {
        let decisions = try await decisions(in: cache.store())
        try output.write(
            ["decisions": decisions.map { ["kind": $0.kind.description, "words": $0.words] }],
            orLines: decisions.map { "\($0.kind): \($0.words)" })
    }

    /// The decisions of the cache itself, over a server that fails: its answer is neither stored nor does it outdate anything.
    func decisions(in store: FileResponseStore, clock: any DatedClock = SystemClock()) async throws -> [CallDecision] {
        let server = ClosureConnection(named: "server", choosingFrom: []) { _ in
            Response(status: .serviceUnavailable, fields: [.cacheControl: "no-store"])
        }
        let (context, settings) = (CallContext(), try stack.map { try StandardStack(named: $0) })
        if let settings, settings.caching == nil { throw CommandFailure(.usage, "These settings have no cache.") }
        var request = try RequestPlan([url], method: "GET", fields: header).request()
        (request.options.principal, request.options.callContext) = (principal.map { Principal($0) }, context)
        _ = try await server.caching(in: store, policy: settings?.caching ?? .standard, clock: clock).send(request)
        return context.history
    }
}
#endif

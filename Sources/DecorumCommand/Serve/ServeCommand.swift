#if CommandLine
import ArgumentParser
import Decorum
import DecorumTesting
import Foundation

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Answers requests from a recording, until it is interrupted.",
        discussion: """
            The standard output gets the URL of the server. Requests match whatever the origin that was recorded. A request \
            without a recording gets the status 599, with the nearest recorded request and what differs. An interrupt ends \
            the server with the status 130.

            EXAMPLES:
              decorum serve Tests/Cassettes/feed.json --port 8080
              decorum serve session.har --mode strict --latency recorded
            """)

    enum Mode: String, ExpressibleByArgument, CaseIterable { case loop, once, strict }
    enum Latency: String, ExpressibleByArgument, CaseIterable { case none, recorded }

    @OptionGroup var recording: RecordingArgument
    @Option(help: "The port; 0 takes a free one.") var port: UInt16 = 0
    @Option(help: ArgumentHelp("The IPv4 address to listen on; 0.0.0.0 lets in other machines.", valueName: "ip"))
    var address = "127.0.0.1"
    @Option(help: "Answer again and again (loop), once, or once in the recorded order (strict).") var mode = Mode.loop
    @Option(help: "Whether content comes with its recorded pauses.") var latency = Latency.none
    @OptionGroup(title: "MATCHING") var matching: MatchingOptions
    @OptionGroup(title: "OUTPUT") var options: ConsoleOptions

    /// The rules that the options name; a miss is answered, and passed to a closure.
    func rules(onMiss tell: @escaping @Sendable (CassetteMissError) -> Void) -> CassetteRules {
        var rules = matching.rules()
        rules.repeats = mode == .loop ? .last : .once
        rules.order = mode == .strict ? .strict : .any
        rules.timing = latency == .recorded ? .recorded : .immediate
        rules.onMiss = { miss, _ in
            tell(miss)
            let text = "No recording matches\n  \(miss.request)\n\(miss.explanation)\n"
            let fields: HTTPFields = [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-store"]
            let body = RecordedBody(Data(text.utf8))
            return .answer(RecordedResponse(status: 599, reason: "No Recording", fields: fields, body: body))
        }
        return rules
    }

    func run() async throws {
        let console = Console(options)
        let rules = rules { miss in console.say("599  \(miss.request)", .yellow) }
        let cassette = try RecordingFile(at: recording.path, rules: rules, telling: console).cassette(.replay)
        let origin: LoopbackOrigin
        do {
            origin = try LoopbackOrigin(playing: cassette, at: address, port: Int(port))
        } catch let error as SocketError {
            throw CommandFailure(.unavailable, "The server cannot listen on port \(port) of \(address). \(error)")
        }
        defer { origin.stop() }
        try console.write(line: origin.url)
        if !address.hasPrefix("127.") { console.say("Other machines may reach this server.", .yellow) }
        while true {
            let requests = try await origin.waitForRequests(1)
            // A server that runs for long must not keep them.
            origin.forgetRequests()
            for request in requests {
                console.say("\(request.method) \(Redaction.described(origin.url + request.target))", at: 1)
            }
        }
    }
}
#endif

#if CommandLine
import ArgumentParser
import Decorum
import DecorumArchive
import DecorumCookies
import DecorumTelemetry
import DecorumTesting
import Foundation
import Synchronization

/// Sends one request or many.
struct RequestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "request",
        abstract: "Sends one request, or many, through a whole stack.",
        discussion: """
            EXAMPLES:
              decorum https://example.com/items page==2
              decorum POST https://example.com/items name=tea price:=3 Accept:text/html
              decorum --bearer env:TOKEN --retries 3 -v https://example.com/me
              decorum --download --continue https://example.com/film.mp4
              decorum --expect 'json $.id == 42' https://example.com/items/42
              decorum --urls-from urls.txt --parallel 20 --json-output

            ITEMS:
              name=text  name:=json  name==query  Name:field  name@file
              and with the value from a file: =@  :=@  ==@  :@
            """)

    @Argument(help: ArgumentHelp("The method, the URL, and items.", valueName: "[method] url [item…]"))
    var words: [String] = []

    @OptionGroup(title: "REQUEST") var content: ContentOptions
    @OptionGroup(title: "CREDENTIALS") var credentials: CredentialOptions
    @OptionGroup(title: "STACK") var stack: StackOptions
    @OptionGroup(title: "TRANSPORT") var transport: TransportOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions
    @OptionGroup(title: "EXPECTATIONS") var expecting: ExpectationOptions
    @OptionGroup(title: "RECORDING") var cassettes: CassetteOptions
    @OptionGroup(title: "GENERAL") var console: ConsoleOptions

    func run() async throws {
        let status = try await perform().status
        guard status == .done else { throw CommandFailure(status, nil) }
    }

    /// Sends what the arguments name, and returns the exit status, and the result of a request that is the only one.
    func perform(keepingContent: Bool = false) async throws -> (status: CommandStatus, result: ExchangeResult?) {
        let environment = ProcessInfo.processInfo.environment
        let console = Console(console)
        let parts = output.parts(console: console, isOneExchange: content.urlsFrom == nil)
        let expectations = try expecting.expectations()
        let mistake = mistake(parts, console.output, !expectations.isEmpty)
        if let mistake { throw CommandFailure(.usage, mistake) }
        let redaction: Redaction = output.showSecrets ? .none : .standard
        let plans = try content.plans()
        let plan = content.urlsFrom == nil ? try plans(words) : nil
        if let plan, output.curl {
            try console.write(line: try plan.request().curlCommand(redacting: redaction))
            return (.done, nil)
        }
        let destination = try output.destination(isReplacing: self.console.force)
        let (clock, generator) = (cassettes.clock, cassettes.generator)
        let cassette = try cassettes.cassette(clock: clock)
        let jarFile = stack.cookies.flatMap { $0 == "none" ? nil : PrivateFile(URL(filePath: $0.expandingHome)) }
        let jar = jarFile.map { CookieJar(file: $0, keepingSessionCookies: true, clock: clock) }
        if let error = jar?.fileError { throw error }
        let events = ExchangeEvents(clock: clock, redaction: redaction)
        var settings = try stack.stack(environment: environment)
        if console.verbosity > 0 {
            settings.callLog = settings.callLog ?? .line
            settings.wireLog = settings.wireLog ?? (console.verbosity > 1 ? .bodies(upTo: 4096) : .fields)
        }
        let network = try transport.makeTransport(connections: content.parallel, clock: clock, console: console)
        let base: any Connection = cassette.map { CassetteConnection($0, recording: network) } ?? network
        // The keys of AWS are asked for without a proxy, and do not get on a cassette.
        let keys: any Connection = cassettes.play == nil ? SystemConnection(clock: clock) : base
        let authentication = try credentials.authentication(
            for: plan.flatMap { try? Origin($0.url) }, over: keys, environment: environment, clock: clock,
            console: console)
        guard plan != nil || settings.baseURL != nil || authentication == nil else {
            throw CommandFailure(.usage, "Credentials need the server that gets them. Add --set baseURL=https://….")
        }
        let connection = try settings.composed(
            over: base, authentication: authentication,
            principal: stack.principal.map { Principal($0) },
            store: settings.caching == nil
                ? nil : stack.cacheUse.folder.map { FileResponseStore(directory: URL(filePath: $0.expandingHome)) },
            observer: events, log: settings.callLog == nil && settings.wireLog == nil ? nil : console.log,
            adding: stack.additions(generator: generator, clock: clock, jar: jar)
                + (parts.contains("H") ? [events.keepingHeads] : []),
            clock: clock, generator: generator)
        console.say("\(connection)", at: 1)

        let runner = ExchangeRunner(
            options: self, connection: connection, events: events, console: console, destination: destination,
            parts: parts, expectations: expectations,
            reports: output.har.map { _ in RecentReports(limit: 10_000) }, keepsContent: keepingContent)
        let result: ExchangeResult? = if let plan { await runner.perform(plan.url) { plan } } else { nil }
        var status = result?.record.exit ?? .done
        if let file = content.urlsFrom {
            status = await ExchangeBatch(runner: runner).perform(try InputFile.lines(file), plan: plans)
        }
        await jarFile?.waitUntilWritten()
        if let path = output.har, let reports = runner.reports?.reports {
            let count = events.counts.withLock { $0.ended }
            if count > reports.count { console.say("The archive has the last \(reports.count) of \(count) exchanges.") }
            let archive = OutputFile(path, replacing: self.console.force)
            do { try archive.write(HAR(reports).document()) } catch {
                status = console.status(telling: error, after: status)
            }
        }
        do { try await cassette?.finish() } catch {
            // A request without a recording has told it already.
            if status == .done { status = console.status(telling: error, after: status) }
        }
        return (status, result)
    }

    /// The words for the first options that do not go together; nil if all do.
    private func mistake(_ parts: Set<Character>, _ terminal: Terminal, _ hasExpectations: Bool) -> String? {
        let (isOne, isSaved) = (content.urlsFrom == nil, output.isDownload || output.file != nil)
        let isDownload = output.isDownload || output.continues
        let isForMany = content.parallel != 8 || content.failFast || expecting.maxTimeP99 != nil
        let isSigned = (credentials.bearerEnv ?? credentials.user ?? credentials.sign) != nil
        let hasSecret = isSigned || credentials.bearer != nil || credentials.netrc
        let needsResponse = hasExpectations || output.headersOutput != nil || !parts.isDisjoint(with: "HBhb")
        let places = [output.isDownload, output.output != nil, output.discard].count { $0 }
        let files = [output.file, output.headersOutput, output.har].compactMap(\.self)
        let paths = Set(files.map { URL(filePath: $0.expandingHome).resolvingSymlinksInPath() })
        return [
            (!isOne && (!words.isEmpty || output.curl), "--urls-from goes without URLs, items and --curl."),
            (!isOne && ["-", "@-"].contains(content.body), "The standard input is sent only once. Use --body @FILE."),
            (!isOne && output.file != nil, "Several responses do not fit into one file. Use --output-dir."),
            (!isOne && output.headersOutput != nil, "Several heads do not fit into one file. Use --json-output."),
            (isOne && isForMany, "--parallel, --fail-fast and --max-time-p99 are for the URLs of --urls-from."),
            (!(1...10_000).contains(content.parallel), "The number of requests at the same time is from 1 to 10000."),
            (output.curl && hasSecret, "--curl prints no credentials. Leave their options out."),
            (!parts.isSubset(of: "HBhbmt"), "The parts to print are H, B, h, b, m and t."),
            (output.showSecrets && !terminal.isTerminal, "Secrets are shown only in a terminal."),
            (places > 1, "The content goes to one place: -o, --download or --discard."),
            (paths.count < files.count || files.contains("-"), "Content, heads and archive are files apart."),
            ((output.continues || output.skipExisting) && !isSaved, "Only a file goes on, or stays. Add -o."),
            (isDownload && needsResponse, "A download tells no head. Use -o without --continue."),
        ].first(where: \.0)?.1
    }
}
#endif

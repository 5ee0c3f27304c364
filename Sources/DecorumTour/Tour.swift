import DecorumDemo
import DecorumEndpoints
import DecorumTelemetry
import DecorumTesting
import Foundation
import Synchronization

/// Shows what Decorum does, on real HTTP over real sockets on this machine; exits with 1 when a step fails.
@main
struct Tour {
    static func main() async throws {
        let (arguments, names) = (CommandLine.arguments.dropFirst(), Chapter.all.map(\.name))
        guard arguments.allSatisfy(names.contains) else {
            print("usage: tour [chapter…], of \(names.joined(separator: ", "))")
            exit(arguments.contains("--help") ? 0 : 2)
        }
        let (terminal, recent) = (Terminal(), RecentReports())
        var number = 0
        terminal.title("Decorum, the tour")
        for chapter in Chapter.all where arguments.isEmpty || arguments.contains(chapter.name) {
            let stage = try Stage(terminal: terminal, recent: recent)
            defer { stage.close() }
            if number == 0 {
                terminal.text("One stack, outermost layer first:")
                for layer in stage.connection.layers { terminal.text("  \(layer)") }
            }
            terminal.title("\(chapter.title) (swift run tour \(chapter.name))")
            for step in chapter.steps {
                number += 1
                terminal.heading(number, step.title)
                terminal.code(step.code)
                terminal.text("Look: \(step.look)")
                do {
                    try await step.run(stage)
                } catch {
                    terminal.failure("\(error)")
                    exit(1)
                }
            }
        }
        terminal.title("All \(number) steps passed.")
        terminal.text("The stack is in Sources/DecorumTour/Tour.swift, the steps are beside it. Read on in README.md.")
    }
}

/// A demonstration that checks its own results.
struct Step: Sendable {
    let title: String
    /// The part of the output to look at.
    let look: String
    /// The Swift code that the step demonstrates.
    let code: String
    /// Runs the step, and throws if a check fails.
    let run: @Sendable (Stage) async throws -> Void
}

/// Steps that belong together, and can be run alone by the name of their chapter.
struct Chapter: Sendable {
    let name: String
    let title: String
    let steps: [Step]

    static let all = [
        Chapter(
            name: "requests", title: "Requests and answers",
            steps: [
                .plainAnswer, .redirection, .retry, .compressedAnswer, .cancelledTransfer, .endedTransfers, .largeBody,
                .analytics,
            ]),
        Chapter(
            name: "caching", title: "Stored responses",
            steps: [.revalidation, .keptResponses, .unsafeRequest, .twoUsers]),
        Chapter(
            name: "credentials", title: "Credentials",
            steps: [.signedRequest, .foreignRedirection, .signedInUser] + readySigners),
        Chapter(name: "machines", title: "More than one machine", steps: [.twoMachines]),
        Chapter(name: "trouble", title: "Servers in trouble", steps: [.citizen, .slowServer]),
        Chapter(name: "traffic", title: "Traffic in simulated time", steps: [.outage, .fleet]),
        Chapter(name: "stacks", title: "Stacks that are checked", steps: [.wrongOrder, .worstCase] + command),
        Chapter(name: "calls", title: "Typed calls", steps: [.typedCall, .uploadedForm, .brokenStream, .pagedList]),
        Chapter(
            name: "transfers", title: "Large files, and writes while offline",
            steps: [.resumedDownload, .resumedUpload, .outbox]),
        Chapter(name: "recording", title: "Tests without a server", steps: [.recordedSession]),
        Chapter(name: "telemetry", title: "What happened, and where the time went", steps: [.story, .waterfall]),
    ]

    #if Signing
    private static let readySigners = [Step.standardSignature]
    #else
    private static let readySigners: [Step] = []
    #endif

    #if CommandLine
    private static let command = [Step.command]
    #else
    private static let command: [Step] = []
    #endif
}

/// The servers, and the stack that talks to them.
struct Stage {
    let terminal: Terminal
    let origin: LoopbackOrigin
    let otherOrigin: LoopbackOrigin
    let demo: DemoAPI
    let connection: any Connection
    /// The same stack for typed calls of the demo API.
    let api: any Connection
    let statistics = ExchangeStatistics()
    /// The reports of the whole tour.
    let recent: RecentReports

    /// Creates a stage with an empty store and empty statistics, over the servers of another one if it is given.
    init(
        terminal: Terminal, recent: RecentReports? = nil, over other: Stage? = nil,
        transport: any Connection = SystemConnection()
    ) throws {
        self.terminal = terminal
        self.recent = recent ?? other?.recent ?? RecentReports()
        origin = try other?.origin ?? LoopbackOrigin()
        otherOrigin = try other?.otherOrigin ?? LoopbackOrigin()
        demo = try other?.demo ?? DemoAPI()
        connection =
            try transport
            .printingMessages(on: terminal)
            .observing(statistics, as: .attempt)
            .observing(self.recent, as: .attempt)
            .authenticating(with: .signer(ChecksumSigner(key: Self.key)), for: origin.origin)
            .retrying()
            .revalidating(in: MemoryResponseStore())
            .decompressing()
            .followingRedirects()
            .acceptingLanguages(["en"])
            .identifyingClient(as: ClientInformation(name: "tour", version: PackageVersion.current))
            .addingDefaultFields([.accept: "*/*"])
            .overridingFields(with: [.cacheControl: "max-age=0"])
            .resolving(against: origin.url)
            .acting(for: Principal("visitor"))
            .limitingTime()
            .logging(to: LogSink(terminal.log))
            .observing(statistics)
            .observing(self.recent)
            .validatingStatus()
        api = try connection.calling(API(problem: [String: String].self), at: demo.url)
    }

    /// A connection of a step's own, whose messages are printed.
    var transport: some Connection { SystemConnection().printingMessages(on: terminal) }

    static let key: UInt64 = 0x5EC2_E7C0_FFEE

    func close() { for origin in [origin, otherOrigin, demo.origin] { origin.stop() } }

    /// Sends a `GET` on behalf of the tour's one user, and prints what the app sees of it.
    func get(
        _ path: String, over connection: (any Connection)? = nil, _ change: (inout Request) -> Void = { _ in }
    ) async throws -> (response: Response, text: String) {
        var request = try Request.get(path)
        request.options.routeName = String(path.dropFirst().prefix(while: \.isLetter))
        request.options.principal = connection == nil ? Principal("visitor") : nil
        change(&request)
        terminal.app("GET \(path)")
        let response = try await (connection ?? self.connection).send(request)
        let text = try await response.body.text(upTo: 1 << 20)
        let source = response.metadata.cacheStatus?.description ?? response.metadata.source?.description
        terminal.app("\(response.status.code)\(source.map { ", \($0)" } ?? ""): \(text.prefix(80))")
        return (response, text)
    }

    /// Makes a call, prints its result, its history and its report, and returns them; the error is nil if a response came.
    func call(
        _ request: Request, over connection: some Connection
    ) async -> (status: HTTPResponse.Status?, error: (any Error)?, givesUp: Bool) {
        let context = CallContext(keepingHistory: 10)
        var request = request
        request.options.callContext = context
        terminal.app("GET \(request.head.path ?? "")")
        var report: CallReport?
        let error = await self.error {
            report = try await connection.send(request).report
            terminal.app("\(report?.statusCode ?? 0)")
        }
        for decision in context.history { terminal.app("history: \(decision)") }
        let story = (error.map { CallReport(of: $0, in: context) } ?? report)?.explain() ?? ""
        terminal.app("report: \(story.split(separator: "\n").joined(separator: " "))")
        return (report?.status, error, context.history.contains { $0.kind == .givesUp })
    }

    /// Returns and prints the error of an operation; nil if it throws no error.
    func error(of operation: () async throws -> Void) async -> (any Error)? {
        do {
            try await operation()
            return nil
        } catch {
            terminal.app("\(error)")
            return error
        }
    }

    /// Throws unless an expectation of the tour is met.
    func check(_ condition: Bool, _ expectation: String) throws {
        struct Failure: Error, CustomStringConvertible { let description: String }
        guard condition else { throw Failure(description: "Not so: \(expectation).") }
    }
}

/// Prints in columns, and with emphasis if the output is a terminal.
final class Terminal: Sendable {
    private let isStyled =
        isatty(FileHandle.standardOutput.fileDescriptor) == 1 && ProcessInfo.processInfo.environment["NO_COLOR"] == nil
    private let output = Mutex(FileHandle.standardOutput)

    func title(_ text: String) { write("\n\(styled(text, "1"))\n") }
    func heading(_ number: Int, _ text: String) { write("\n\(styled("\(number). \(text)", "1;36"))\n") }
    func code(_ text: String) { write("   \(styled(text, "35"))\n") }
    func text(_ text: String) { write("   \(text)\n") }
    func failure(_ text: String) { write("   \(styled("FAILED", "1;31")) \(text)\n") }
    func log(_ text: String) { write("   \(styled("log ", "2")) \(styled(text, "2"))\n") }
    /// Prints a call of the app, or its result.
    func app(_ text: String) { write("   \(styled("app ", "32")) \(text)\n") }
    /// Prints each line of a description.
    func text(lines: some CustomStringConvertible) {
        for line in "\(lines)".split(separator: "\n") { text(String(line)) }
    }

    /// Prints the first line of a message that is sent or received, and the fields that a step is about.
    func message(_ line: String, _ fields: HTTPFields) {
        let shown: Set<HTTPField.Name> = [
            .authorization, .contentEncoding, .cookie, .ifNoneMatch, .ifModifiedSince, .eTag, .lastModified, .location,
            .range, .retryAfter,
        ]
        let lines = fields.filter { shown.contains($0.name) }.map { "    \($0.name.rawName): \($0.value)" }
        for text in [line] + lines { write("   \(styled("http", "33")) \(text)\n") }
    }

    private func styled(_ text: String, _ code: String) -> String {
        isStyled ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }

    private func write(_ text: String) {
        // A reader that has closed the pipe, as in `swift run tour | head`, does not make the tour fail.
        output.withLock { try? $0.write(contentsOf: Data(text.utf8)) }
    }
}

extension Connection {
    /// Prints each request that is sent and its response: the tour's own layer.
    func printingMessages(on terminal: Terminal) -> some Connection {
        intercepting("printingMessages", facts: [.records, .redacts]) { request, base in
            let request = request
            let head = Redaction.standard.applied(to: request.head)
            terminal.message("→ \(head.method) \(head.authority ?? "")\(head.path ?? "")", head.headerFields)
            let response = try await base.send(request)
            terminal.message("← \(response.status.code)", Redaction.standard.applied(to: response.head.headerFields))
            return response
        }
    }
}

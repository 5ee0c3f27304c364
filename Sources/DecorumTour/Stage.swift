import DecorumDemo
import DecorumEndpoints
import DecorumTesting
import Foundation

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

    /// Creates a stage with an empty store and empty statistics, over the servers of another one if it is given.
    init(terminal: Terminal, over other: Stage? = nil, transport: any Connection = SystemConnection()) throws {
        self.terminal = terminal
        origin = try other?.origin ?? LoopbackOrigin()
        otherOrigin = try other?.otherOrigin ?? LoopbackOrigin()
        demo = try other?.demo ?? DemoAPI()
        connection =
            try transport
            .printingMessages(on: terminal)
            .observing(statistics, as: .attempt)
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
            .validatingStatus()
        api = try connection.calling(API(problem: DemoProblem.self), at: demo.url)
    }

    /// A connection of a step's own, whose messages are printed.
    var transport: some Connection { SystemConnection().printingMessages(on: terminal) }

    static let key: UInt64 = 0x5EC2_E7C0_FFEE

    func close() {
        origin.stop()
        otherOrigin.stop()
        demo.stop()
    }

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

    /// Makes a call, prints its result and its history, and returns them; the error is nil if a response came.
    func call(
        _ request: Request, over connection: some Connection
    ) async -> (status: HTTPResponse.Status?, error: (any Error)?, givesUp: Bool) {
        let context = CallContext(keepingHistory: 10)
        var request = request
        request.options.callContext = context
        terminal.app("GET \(request.head.path ?? "")")
        var status: HTTPResponse.Status?
        let error = await self.error {
            let code = try await connection.send(request).status
            terminal.app("\(code.code)")
            status = code
        }
        for decision in context.history { terminal.app("history: \(decision)") }
        return (status, error, context.history.contains { $0.kind == .givesUp })
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
        guard condition else { throw CheckFailure(description: "Not so: \(expectation).") }
    }
}

/// An error that a step throws when a check fails.
struct CheckFailure: Error, CustomStringConvertible {
    let description: String
}

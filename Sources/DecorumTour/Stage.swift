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

    init(terminal: Terminal) throws {
        try self.init(
            terminal: terminal, origins: (LoopbackOrigin(), LoopbackOrigin()), demo: DemoAPI(),
            transport: SystemConnection())
    }

    private init(
        terminal: Terminal, origins: (LoopbackOrigin, LoopbackOrigin), demo: DemoAPI, transport: any Connection
    ) throws {
        self.terminal = terminal
        (origin, otherOrigin) = origins
        self.demo = demo
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

    /// Returns a stage with an empty store and empty statistics, on another transport.
    func anew(on transport: any Connection) throws -> Stage {
        try Stage(terminal: terminal, origins: (origin, otherOrigin), demo: demo, transport: transport)
    }

    static let key: UInt64 = 0x5EC2_E7C0_FFEE

    func close() {
        origin.stop()
        otherOrigin.stop()
        demo.stop()
    }

    /// Makes a request on behalf of the tour's one user.
    func request(_ path: String, as routeName: String) throws -> Request {
        var request = try Request.get(path)
        request.options.routeName = routeName
        request.options.principal = Principal("visitor")
        return request
    }

    /// Sends a `GET` and prints what the app sees of it.
    func get(_ path: String, as routeName: String) async throws -> (response: Response, text: String) {
        terminal.app("GET \(path)")
        let response = try await connection.send(request(path, as: routeName))
        let text = try await response.body.text(upTo: 1 << 20)
        let source = response.metadata.source.map { " from \($0)" } ?? ""
        terminal.app("\(response.status.code)\(source): \(text)")
        return (response, text)
    }

    /// Makes a call, and prints its result and its history.
    func call(_ request: Request, over connection: some Connection) async -> CallHistory {
        let context = CallContext(keepingHistory: 10)
        var request = request
        request.options.callContext = context
        terminal.app("GET \(request.head.path ?? "")")
        let result: Result<Response, any Error>
        do {
            let response = try await connection.send(request)
            terminal.app("\(response.status.code)")
            result = .success(response)
        } catch {
            terminal.app("\(error)")
            result = .failure(error)
        }
        for decision in context.history { terminal.app("history: \(decision)") }
        return CallHistory(result: result, decisions: context.history)
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

/// The result of a call, and the reasons for it.
struct CallHistory {
    let result: Result<Response, any Error>
    /// The decisions of the layers, in order.
    let decisions: [CallDecision]

    /// The error of a call without a response.
    var error: (any Error)? { if case .failure(let error) = result { error } else { nil } }
    /// Whether a layer has given up.
    var givesUp: Bool { decisions.contains { $0.kind == .givesUp } }
}

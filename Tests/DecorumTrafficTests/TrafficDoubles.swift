import Decorum
import DecorumTesting

extension Request {
    static func get(
        _ url: String, group: RequestGroup? = nil, priority: TaskPriority? = nil,
        deadline: ContinuousClock.Instant? = nil, in call: CallContext? = nil
    ) throws -> Request {
        var request = try Request(.get, url)
        (request.options.group, request.options.priority) = (group, priority)
        (request.options.deadline, request.options.callContext) = (deadline, call)
        return request
    }
}

extension Gate {
    /// The answer of a server that waits at the gate.
    func response() async throws -> Response {
        try await wait()
        return Response(status: .ok)
    }
}

extension SimulatedServer {
    /// A server of which some values differ.
    init(_ change: (inout SimulatedServer) -> Void) {
        self.init()
        change(&self)
    }
}

import Decorum

/// The result of a call, and the reasons for it.
struct CallHistory {
    let result: Result<Response, any Error>
    /// The decisions of the layers, in order.
    let decisions: [CallDecision]

    /// The error of a call without a response.
    var error: (any Error)? {
        if case .failure(let error) = result { error } else { nil }
    }

    /// Whether a layer has given up.
    var givesUp: Bool { decisions.contains { $0.kind == .givesUp } }
}

extension Stage {
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
}

import Decorum

extension Connection {
    /// Prints each request that is sent and its response: the tour's own decorator.
    func printingMessages(on terminal: Terminal) -> some Connection {
        MessagePrintingConnection(base: self, terminal: terminal)
    }
}

struct MessagePrintingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let terminal: Terminal

    var layer: Layer {
        Layer(name: "printingMessages", role: .observation, facts: [.records, .redacts])
    }

    func send(_ request: consuming Request) async throws -> Response {
        let head = Redaction.standard.applied(to: request.head)
        terminal.message("→ \(head.method) \(head.authority ?? "")\(head.path ?? "")")
        for field in head.headerFields where Self.shown.contains(field.name) {
            terminal.message("    \(field.name.rawName): \(field.value)")
        }
        let response = try await base.send(request)
        terminal.message("← \(response.status.code)")
        for field in Redaction.standard.applied(to: response.head).headerFields where Self.shown.contains(field.name) {
            terminal.message("    \(field.name.rawName): \(field.value)")
        }
        return response
    }

    private static var shown: Set<HTTPField.Name> {
        [
            .authorization, .contentEncoding, .cookie, .ifNoneMatch, .ifModifiedSince, .eTag, .lastModified, .location,
            .retryAfter,
        ]
    }
}

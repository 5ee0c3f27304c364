import Decorum

extension Connection {
    /// Prints each request that is sent and its response: the tour's own decorator.
    func printingWire(on terminal: Terminal) -> some Connection {
        WirePrintingConnection(base: self, terminal: terminal)
    }
}

struct WirePrintingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let terminal: Terminal

    func send(_ request: consuming Request) async throws -> Response {
        let head = Redaction.standard.applied(to: request.head)
        terminal.wire("→ \(head.method) \(head.authority ?? "")\(head.path ?? "")")
        for field in head.headerFields where Self.shown.contains(field.name) {
            terminal.wire("    \(field.name.rawName): \(field.value)")
        }
        let response = try await base.send(request)
        terminal.wire("← \(response.status.code)")
        for field in Redaction.standard.applied(to: response.head).headerFields where Self.shown.contains(field.name) {
            terminal.wire("    \(field.name.rawName): \(field.value)")
        }
        return response
    }

    private static var shown: Set<HTTPField.Name> {
        [.authorization, .cookie, .ifNoneMatch, .ifModifiedSince, .eTag, .lastModified, .location, .retryAfter]
    }
}

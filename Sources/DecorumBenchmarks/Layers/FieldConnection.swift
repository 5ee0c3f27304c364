import Decorum
import HTTPTypes

/// A layer that sets one field, as code outside of Decorum writes it.
struct FieldConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let name: HTTPField.Name

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        request.head.headerFields[name] = "spring"
        return try await base.send(request)
    }
}

extension Connection {
    /// Sets one field, with the type known.
    func setting(_ name: HTTPField.Name) -> FieldConnection<Self> { FieldConnection(base: self, name: name) }
}

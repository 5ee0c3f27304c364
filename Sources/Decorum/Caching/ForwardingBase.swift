/// The connection further in, for the closures and tasks of a cache: a class, since each of them would copy all layers.
final class ForwardingBase<Base: Connection>: Connection {
    private let base: Base

    init(_ base: Base) {
        self.base = base
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        try await base.send(request)
    }

    var layers: [Layer] { base.layers }
}

import Decorum
import Foundation
import HTTPTypes

/// A layer that follows redirections of requests which only read.
struct LeadingConnection: ComposedConnection {
    /// The typical mistakes of layers that choose the target.
    enum Mistake: CaseIterable, Sendable {
        case takesSecretsAlong, takesDeclaredSecretsAlong, isSilent, holdsTheRedirection
    }

    let base: AnyConnection
    var mistake: Mistake?
    private let held = Kept<Body>()

    init(base: AnyConnection, mistake: Mistake? = nil) {
        self.base = base
        self.mistake = mistake
    }

    var layer: Layer {
        Layer(
            name: "leading", role: .redirection,
            facts: mistake == .isSilent ? [.resends] : [.resends, .changesSignedParts])
    }

    func send(_ request: consuming Request) async throws -> Response {
        var request = request
        for _ in 0..<5 {
            let response = try await base.send(request)
            guard [.get, .head].contains(request.head.method), response.status.kind == .redirection,
                let location = response.head.headerFields[.location]
            else { return response }
            try Task.checkCancellation()
            if mistake == .holdsTheRedirection { held.keep(response.body) }
            lead(&request, to: location)
        }
        return try await base.send(request)
    }

    private func lead(_ request: inout Request, to location: String) {
        guard let url = URL(string: location), let host = url.host() else {
            request.head.path = location
            return
        }
        request.head.scheme = url.scheme
        request.head.authority = host
        request.head.path = url.path()
        guard mistake != .takesSecretsAlong else { return }
        request.head.headerFields = request.head.headerFields.filter { field in
            let isDeclared = request.options.secretFields.contains(field.name) && mistake != .takesDeclaredSecretsAlong
            return !isDeclared && ![.authorization, .cookie].contains(field.name)
        }
    }
}

/// A layer that sends everything to another host.
struct MirroredConnection: ComposedConnection {
    let base: AnyConnection
    var isSilent = false

    var layer: Layer { Layer(name: "mirrored", facts: isSilent ? [] : [.changesSignedParts, .setsOrigin]) }

    func send(_ request: consuming Request) async throws -> Response {
        request.head.authority = "mirror.example"
        return try await base.send(request)
    }
}

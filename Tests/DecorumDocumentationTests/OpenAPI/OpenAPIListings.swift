import DecorumEndpoints
import Foundation
import HTTPTypes

struct ConnectionTransport: ClientTransport {
    let connection: any Connection

    func send(
        _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let base = baseURL.absoluteString
        let folder = base.hasSuffix("/") ? String(base.dropLast()) : base
        var call = try Request(request.method, folder + (request.path ?? "/"), fields: request.headerFields)
        if let body { call.body = Body(body) }
        call.options.routeName = operationID
        call.options.acceptedStatuses = AcceptedStatuses("documented") { _ in true }
        let response = try await connection.send(call)
        return (response.head, HTTPBody(response.body))
    }
}

extension Body {
    init(_ body: HTTPBody) {
        let length: Int64? = if case .known(let length) = body.length { length } else { nil }
        self.init(length: length, replay: body.iterationBehavior == .multiple ? .fromStart : .once) { _ in
            try await Body(chunks: body.map { Data($0) }).open()
        }
    }
}

extension HTTPBody {
    convenience init(_ body: Body) {
        let length = body.length.map { Length.known($0) } ?? .unknown
        self.init(body.map { ArraySlice($0) }, length: length, iterationBehavior: .single)
    }
}

enum OpenAPIListings {
    static func transport(token: String) throws -> any ClientTransport {
        let stack = StandardStack(for: "https://api.example.com/v1/")
        let transport = ConnectionTransport(connection: try stack.composed(authentication: .with(.bearer(token))))
        return transport
    }
}

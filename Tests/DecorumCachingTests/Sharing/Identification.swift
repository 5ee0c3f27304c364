import Decorum
import Foundation
import HTTPTypes

/// The user that hidden layers make a request for; no layer that shares responses compares it.
enum UserKey: RequestOptionKey {
    static let defaultValue: String? = nil
}

/// A way in which a layer identifies the user to a server.
enum Identification: String, CaseIterable {
    case authorization, cookie, apiKey, userID, tenant, unknownField, query, userinfo, content, authority

    /// Adds the identification of the request's user to it.
    func identify(_ request: inout Request) {
        guard let user = request.options[UserKey.self] else { return }
        switch self {
        case .authorization: request.head.headerFields[.authorization] = "Bearer \(user)"
        case .cookie: request.head.headerFields[.cookie] = "sid=\(user)"
        case .apiKey: request.set("X-API-Key", user)
        case .userID: request.set("X-User-Id", user)
        case .tenant: request.set("X-Tenant", user)
        case .unknownField: request.set("X-Zeug", user)
        case .query: request.head.path = (request.head.path ?? "/") + "?key=\(user)"
        case .userinfo: request.head.authority = "\(user):secret@\(request.head.authority ?? "")"
        case .content: request.body = Body(user)
        case .authority: request.head.authority = "\(user).\(request.head.authority ?? "")"
        }
    }

    /// Whether a cache further in sees the identification, so that it separates responses.
    var isVisible: Bool { self != .unknownField }
}

extension Request {
    /// The user that a server recognises in the request, at any place of the name.
    var user: String? {
        // The entity tags that a cache asks about are not those of the user's own responses.
        let fields = head.headerFields.filter { $0.name != .ifNoneMatch }
        let texts = fields.map(\.value) + [head.path ?? "", head.authority ?? ""]
        let content = body.bytes.map { String(decoding: $0, as: UTF8.self) } ?? ""
        return ["alice", "bob"].first { user in (texts + [content]).contains { $0.contains(user) } }
    }

    fileprivate mutating func set(_ name: String, _ value: String) {
        guard let name = HTTPField.Name(name) else { return }
        head.headerFields[name] = value
    }
}

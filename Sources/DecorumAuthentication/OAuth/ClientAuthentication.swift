import Decorum
import Foundation
import HTTPTypes

/// How a client proves its identity to an authorization server (RFC 6749, section 2.3).
///
/// An app on a device of a user has no secret: everything in it can be read. It uses ``none``.
public struct ClientAuthentication: Sendable {
    private enum Kind {
        case none
        case basic(String)
        case post(String)
    }

    private let kind: Kind

    /// The client has no secret, and sends only its identifier.
    public static let none = ClientAuthentication(kind: .none)

    /// The client sends its secret in the `Authorization` field.
    ///
    /// - Parameter secret: The secret.
    /// - Returns: The authentication.
    public static func basic(_ secret: String) -> ClientAuthentication { ClientAuthentication(kind: .basic(secret)) }

    /// The client sends its secret in the content, for servers that accept no `Authorization` field.
    ///
    /// - Parameter secret: The secret.
    /// - Returns: The authentication.
    public static func post(_ secret: String) -> ClientAuthentication { ClientAuthentication(kind: .post(secret)) }

    /// The request with the identity of a client.
    func request(
        to url: String, _ parameters: [(name: String, value: String)], by id: String
    ) throws(InvalidRequestError) -> Request {
        var parameters = parameters
        var fields: HTTPFields = [.accept: "application/json"]
        switch kind {
        case .none: parameters.append(("client_id", id))
        case .post(let secret): parameters += [("client_id", id), ("client_secret", secret)]
        case .basic(let secret):
            // Both are encoded like fields of a form before they are joined (RFC 6749, section 2.3.1).
            let pair = "\(Self.encoded(id)):\(Self.encoded(secret))"
            fields[.authorization] = "Basic \(Data(pair.utf8).base64EncodedString())"
        }
        var request = try Request.post(url, fields: fields, body: Body(form: parameters))
        request.options.secretFields = [.authorization]
        return request
    }

    private static func encoded(_ text: String) -> String {
        // The form encoding of a field without a name is an equals sign and the value.
        let form = Body(form: [("", text)]).bytes ?? Data()
        return String(decoding: form.dropFirst(), as: UTF8.self)
    }
}

extension ClientAuthentication: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind, without the secret.
    public var description: String {
        switch kind {
        case .none: "none"
        case .basic: "basic"
        case .post: "post"
        }
    }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

import Foundation
import HTTPTypes

extension Connection {
    /// Sends a request with credentials, and tells those who made them of the response.
    ///
    /// - Parameters:
    ///   - request: The request, which has none of the fields of the credentials.
    ///   - credentials: The credentials.
    ///   - tell: Tells the source of the credentials.
    /// - Returns: The response.
    /// - Throws: The error of the signer, or of this connection.
    func send(
        _ request: consuming Request, carrying credentials: Credentials, tell: (AuthenticationAnswer) async -> Void
    ) async throws -> Response {
        let target = request.target
        let origin = try Origin(request.head)
        request.options.declareSecret(credentials.secretFields)
        switch credentials.source {
        case .fields(let fields): for field in fields { request.head.headerFields.append(field) }
        case .signer(let signer): request = try await request.signed(by: signer)
        }
        let head = request.head
        let signedTarget = request.options.secretQueryItems.isEmpty ? nil : request.target
        let secretItems = request.options.secretQueryItems
        var response = try await send(request)
        // The layers further out, the caller and the signer know the URL without its signature, which a server may repeat.
        response.metadata.replaceTarget(signedTarget, by: target)
        if !secretItems.isEmpty { response.metadata.secretQueryItems.formUnion(secretItems) }
        let answer = AuthenticationAnswer(
            request: head, origin: origin, head: response.head, metadata: response.metadata)
        if case .signer(let signer) = credentials.source { await signer.learn(from: answer) }
        await tell(answer)
        response.noteRefusedCredentials()
        return response
    }
}

extension Request {
    /// The request with the signature of a signer, which is held to what a signer may change, and whose additions are
    /// declared secret.
    fileprivate func signed(by signer: any RequestSigner) async throws -> Request {
        var signed = try await signer.sign(self)
        guard signed.head.method == head.method, signed.hasOrigin(of: head) else {
            throw InvalidRequestError.changedBySigner
        }
        var options = options
        options.declareSecret(signer.secretFields.union(signed.options.secretFields))
        options.declareSecret(secretFields(addedIn: signed.head.headerFields, declared: options.secretFields))
        let items = signed.options.secretQueryItems.union(QueryItem.names(addedTo: head.path, in: signed.head.path))
        if !items.isEmpty { options.secretQueryItems.formUnion(items) }
        signed.options = options
        return signed
    }

    private func hasOrigin(of other: HTTPRequest) -> Bool {
        if head.scheme == other.scheme, head.authority == other.authority { return true }
        guard let origin = try? Origin(head) else { return false }
        return origin == (try? Origin(other))
    }

    /// The names of the fields that signing has added or changed, without those that are known to be harmless.
    private func secretFields(
        addedIn signed: HTTPFields, declared: Set<HTTPField.Name>
    ) -> Set<HTTPField.Name> {
        var names: Set<HTTPField.Name> = []
        for field in signed where head.headerFields[values: field.name] != signed[values: field.name] {
            let isHarmless =
                HarmlessFields.contains(field.name)
                && !Redaction.standard.isSecret(field, secretFields: declared)
            if !isHarmless { names.insert(field.name) }
        }
        return names
    }
}

/// The fields that signers add or change, and that grant no access.
private enum HarmlessFields {
    private static let names = FieldNames(
        Set(
            [
                "Accept-Signature", "Content-Digest", "Content-Encoding", "Content-MD5", "Content-Type", "Digest",
                "Host",
                "Repr-Digest", "Signature-Input", "X-Amz-Content-SHA256", "X-Amz-Date", "X-Amz-Decoded-Content-Length",
                "X-Amz-Trailer", "X-Goog-Content-SHA256", "X-Goog-Date", "X-MS-Content-SHA256", "X-MS-Date",
                "X-MS-Version",
            ].compactMap { HTTPField.Name($0) }))

    static func contains(_ name: HTTPField.Name) -> Bool { names.contains(name) || NeutralFields.contains(name) }
}

/// An item of a query, as it is written.
private struct QueryItem: Hashable {
    let text: Substring

    var name: Substring { text.prefix { $0 != "=" } }

    /// The names of the items that only the second of two paths has, or that it has more often.
    static func names(addedTo path: String?, in signed: String?) -> Set<String> {
        guard path != signed else { return [] }
        var counts: [QueryItem: Int] = [:]
        for item in items(of: path) { counts[item, default: 0] += 1 }
        var names: Set<String> = []
        for item in items(of: signed) {
            counts[item, default: 0] -= 1
            guard counts[item, default: 0] < 0, !item.name.isEmpty else { continue }
            names.insert(item.name.removingPercentEncoding ?? String(item.name))
        }
        return names
    }

    private static func items(of path: String?) -> [QueryItem] {
        guard let path, let mark = path.firstIndex(of: "?") else { return [] }
        return path[path.index(after: mark)...].split(separator: "&").map(QueryItem.init)
    }
}

extension ResponseMetadata {
    /// Replaces the URL of a signed request by that of the request without its signature.
    fileprivate mutating func replaceTarget(_ signed: Target?, by target: Target?) {
        guard let signed = signed?.urlText, url?.absoluteString == signed else { return }
        url = target?.urlText.flatMap { URL(string: $0) }
    }
}

extension InvalidRequestError.Reason {
    /// A signer has changed the method or the origin of the request.
    public static let changedBySigner = Self("changedBySigner")
}

extension InvalidRequestError {
    fileprivate static let changedBySigner = Self(
        .changedBySigner,
        "The signer has changed the method or the origin of the request. Return the request with its signature, and "
            + "change it in a layer further out.")
}

import Foundation
public import HTTPTypes

extension Connection {
    /// Sends a request, which has none of the fields of the credentials, with them, and tells their makers of the response.
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
        let items = signed.options.secretQueryItems.union(WrittenItem.names(addedTo: head.path, in: signed.head.path))
        if !items.isEmpty { options.secretQueryItems.formUnion(items) }
        signed.options = options
        return signed
    }

    private func hasOrigin(of other: HTTPRequest) -> Bool {
        if head.scheme == other.scheme, head.authority == other.authority { return true }
        guard let origin = try? Origin(head) else { return false }
        return origin == (try? Origin(other))
    }

    /// The names of the fields that signing has added or changed, without the names that are known to be harmless.
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
private struct WrittenItem: Hashable {
    let text: Substring

    var name: Substring { text.prefix { $0 != "=" } }

    /// The names of the items that only the second of two paths has, or that it has more often.
    static func names(addedTo path: String?, in signed: String?) -> Set<String> {
        guard path != signed else { return [] }
        var counts: [WrittenItem: Int] = [:]
        for item in items(of: path) { counts[item, default: 0] += 1 }
        var names: Set<String> = []
        for item in items(of: signed) {
            counts[item, default: 0] -= 1
            guard counts[item, default: 0] < 0, !item.name.isEmpty else { continue }
            names.insert(item.name.removingPercentEncoding ?? String(item.name))
        }
        return names
    }

    private static func items(of path: String?) -> [WrittenItem] {
        guard let path, let mark = path.firstIndex(of: "?") else { return [] }
        return path[path.index(after: mark)...].split(separator: "&").map(WrittenItem.init)
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
    package static let changedBySigner = Self("changedBySigner")
}

extension InvalidRequestError {
    fileprivate static let changedBySigner = Self(
        .changedBySigner,
        "The signer has changed the method or the origin of the request. Return the request with its signature, and "
            + "change it in a layer further out.")
}

/// Computes the credentials of a request from the request itself, such as a signature.
///
/// ```swift
/// struct SharedKeySigner: RequestSigner {
///     let key: SharedKey
///     let secretFields: Set<HTTPField.Name> = [.authorization]
///
///     func sign(_ request: Request) async throws -> Request {
///         var request = request
///         request.head.headerFields[.authorization] = try await key.signature(of: request.head)
///         return request
///     }
/// }
/// ```
///
/// A signature may be a field, items of the query, or a part of the content, such as signed chunks and trailer fields.
/// A signer is a value that many requests use at the same time. A signer that needs the time has its own
/// ``DatedClock``.
public protocol RequestSigner: Sendable {
    /// The fields that hold the signature or another secret.
    ///
    /// A redirection to another origin drops them, and no log or recording shows them. A request that already has one
    /// of them is not signed.
    var secretFields: Set<HTTPField.Name> { get }

    /// The facts of the layer beside those of every signer, such as ``Layer/Fact/waits`` for keys of another place; by default
    /// empty.
    var facts: Set<Layer.Fact> { get }

    /// Signs a request.
    ///
    /// This is called once for every attempt, with the request as it reaches the layer. The layer takes the head and the
    /// body of the result. It keeps the options, and throws ``InvalidRequestError`` if the method or the origin has changed.
    ///
    /// The layer declares as secret each field that signing adds or changes, unless the name is known to be harmless, such as
    /// `Date`, and each item that signing adds to the query. No log, no recording and no description of the request shows
    /// their values. A signature in the path, and one that a server repeats in content, is not recognized.
    ///
    /// To sign the content, read ``Request/body``, but only if its ``Body/replay`` is not ``Body/Replay/once``: otherwise
    /// the content can no longer be sent, and the transport throws ``BodyReadTwiceError``. For such a body, return one
    /// that signs its chunks while they are read, declare the content as not signed, or throw your own error.
    ///
    /// - Parameter request: The request, without its signature.
    /// - Returns: The signed request.
    /// - Throws: The error that prevents signing; nothing is sent, and the caller gets the error unchanged.
    nonisolated(nonsending) func sign(_ request: Request) async throws -> Request

    /// Learns from the response to a signed request, such as a challenge, the server's clock, or the next nonce.
    ///
    /// The caller gets the response when this returns. It is not called when there is no response. By default, it does
    /// nothing. Take the server's clock only from a response of the network: see ``AuthenticationAnswer/metadata``.
    ///
    /// - Parameter answer: The signed head and the response to it.
    nonisolated(nonsending) func learn(from answer: AuthenticationAnswer) async
}

extension RequestSigner {
    /// Empty.
    public var facts: Set<Layer.Fact> { [] }

    /// Learns nothing.
    public func learn(from answer: AuthenticationAnswer) async {}
}

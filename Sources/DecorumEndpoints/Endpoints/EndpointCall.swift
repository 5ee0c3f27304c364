public import Decorum
import Foundation
import HTTPTypes

/// The sending of one endpoint's request, up to an accepted response.
struct EndpointCall<Value: Sendable> {
    private let endpoint: Endpoint<Value>

    init(_ endpoint: Endpoint<Value>) {
        self.endpoint = endpoint
    }

    /// Sends the request.
    ///
    /// - Returns: An accepted response, and the settings to read it with.
    /// - Throws: ``RefusalError`` for another status, and the errors of the layers.
    func send(
        _ request: consuming Request, over connection: some Connection
    ) async throws -> (Response, ReadingSettings) {
        try checkCompletion(of: request, by: connection)
        request.options.judgesStatus = true
        let response: Response
        do {
            response = try await connection.send(request)
        } catch let error as StatusError {
            var received = error.response
            received.metadata.statusError = error
            response = received
        }
        let api = endpoint.api ?? response.metadata.api ?? .standard
        guard endpoint.accepted.contains(response.status) else { throw try await refusal(response, api) }
        var settings = api.settings
        if let limit = endpoint.limit { settings.limit = limit }
        return (response, settings)
    }

    /// Refuses a call whose late values no layer would fill in.
    private func checkCompletion(of request: borrowing Request, by connection: some Connection) throws {
        guard request.options.completion != nil, !connection.layers.contains(where: \.completesRequests) else { return }
        throw InvalidRequestError(
            .missingLayer,
            "The endpoint “\(endpoint.path.text)” has a step for each attempt, and no layer runs it; apply `completing()` "
                + "inside of `retrying()`.")
    }

    private func refusal(_ received: Response, _ api: API) async throws -> RefusalError {
        let known = received.metadata.statusError
        let (response, content) = try await RefusedContent.read(received)
        let problem = content.flatMap { api.problem?.read($0, api.settings.decoder) }
        let error =
            known
            ?? StatusError(
                method: endpoint.method, origin: response.metadata.url.flatMap { try? Origin($0) },
                routeName: endpoint.options.routeName ?? endpoint.path.text, response: response)
        return RefusalError(statusError: error, content: content, problem: problem)
    }
}

/// The begin of the content of a response with another status, which is mostly a short text.
enum RefusedContent {
    static let limit = 64 << 10

    /// Reads the content where it is short and meant to be read, and leaves the response a body with the same bytes.
    ///
    /// - Returns: The response, and the first bytes; nil where nothing was read.
    @concurrent static func read(_ received: Response) async throws -> (Response, Data?) {
        var response = received
        guard isText(response.head.headerFields[.contentType]), response.body.length ?? 0 <= Int64(limit) else {
            return (response, nil)
        }
        if let bytes = response.body.bytes { return (response, bytes) }
        var data = Data()
        do {
            var reader = try await response.body.open()
            while data.count < limit, let chunk = try await reader.next() {
                data.append(chunk.prefix(limit - data.count))
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            // The status says more than the failure to read its explanation does.
        }
        response.body = Body(data)
        return (response, data)
    }

    private static func isText(_ mediaType: String?) -> Bool {
        guard let mediaType = mediaType?.lowercased() else { return false }
        return mediaType.hasPrefix("text/") || mediaType.contains("json") || mediaType.contains("xml")
    }
}

extension Layer {
    fileprivate var completesRequests: Bool {
        facts.contains(.completesRequests) || branches.contains { $0.layers.contains(where: \.completesRequests) }
    }
}

extension InvalidRequestError.Reason {
    /// The request needs a layer that the stack does not have.
    public static let missingLayer = Self("missingLayer")
}

extension RequestOptions {
    /// Whether the caller decides itself which statuses are errors.
    var judgesStatus: Bool {
        get { self[JudgesStatusKey.self] }
        set { self[JudgesStatusKey.self] = newValue }
    }
}

extension ResponseMetadata {
    /// The API that has answered; nil for a connection without `calling`.
    var api: API? {
        get { self[APIKey.self] }
        set { self[APIKey.self] = newValue }
    }

    /// The error that a layer has made of the response.
    var statusError: StatusError? {
        get { self[StatusErrorKey.self] }
        set { self[StatusErrorKey.self] = newValue }
    }
}

private enum JudgesStatusKey: RequestOptionKey {
    static let defaultValue = false
    static let travels = OptionTravel.call
}

private enum APIKey: ResponseMetadataKey {
    static let defaultValue: API? = nil
}

private enum StatusErrorKey: ResponseMetadataKey {
    static let defaultValue: StatusError? = nil
}

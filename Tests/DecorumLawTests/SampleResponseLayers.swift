import Decorum
import Foundation
import HTTPTypes
import Synchronization

/// A content coding that sends each byte twice, which stands for gzip: what is decoded has another length.
struct DoubledConnection: ComposedConnection {
    /// The typical mistakes of decoders.
    enum Mistake: Sendable {
        case dropsTrailers, keepsContentLength, keepsContentEncoding, claimsCodedLength
        case collects, takesAShortChunkForTheEnd, endsAtAnError, wrapsErrors, makesNewResponse, opensTwice,
            keepsTransfer
        case decodesNothing, endsAtCancellation, rewritesFields
    }

    let base: AnyConnection
    var mistake: Mistake?
    private let kept = Kept<Body>()

    init(base: AnyConnection, mistake: Mistake? = nil) {
        self.base = base
        self.mistake = mistake
    }

    var layer: Layer { Layer(name: "doubled", facts: [.decodesContent, .changesResponse]) }

    static func encode(_ text: String) -> Body {
        Body(Data(text.utf8.flatMap { [$0, $0] }))
    }

    func send(_ request: consuming Request) async throws -> Response {
        var response = try await base.send(request)
        let mayBeEmpty = mistake != .decodesNothing
        guard response.head.headerFields[.contentEncoding] == "x-doubled", !mayBeEmpty || !response.body.isEmpty
        else { return response }
        if !mayBeEmpty, response.body.isEmpty { throw TransportError(.undecodableContent, at: .body) }

        if mistake != .keepsContentEncoding { response.head.headerFields[.contentEncoding] = nil }
        if mistake != .keepsContentLength { response.head.headerFields[.contentLength] = nil }
        if mistake == .rewritesFields { response.head.headerFields = HTTPFields(joining: response.head.headerFields) }
        let coded = response.body
        if mistake == .opensTwice { _ = try await coded.open() }
        if mistake == .keepsTransfer { kept.keep(coded) }
        if mistake == .collects {
            response.body = Body(Data(try await coded.data(upTo: 1 << 20).undoubled))
            return response
        }
        let mistake = mistake
        let body = Body(length: mistake == .claimsCodedLength ? coded.length : nil, replay: .once) { _ in
            Reader(reader: try await coded.open(), mistake: mistake)
        }
        if mistake == .makesNewResponse { return Response(head: response.head, body: body) }
        response.body = body
        return response
    }

    private struct Reader: BodyReader {
        var reader: any BodyReader
        let mistake: Mistake?
        var isRepeated = false

        mutating func next() async throws -> Data? {
            while let chunk = try await chunk() {
                var data = Data()
                for byte in chunk {
                    if !isRepeated { data.append(byte) }
                    isRepeated.toggle()
                }
                if !data.isEmpty { return data }
            }
            return nil
        }

        private mutating func chunk() async throws -> Data? {
            do {
                let chunk = try await reader.next()
                if mistake == .takesAShortChunkForTheEnd, chunk?.count ?? 0 < 32 { return nil }
                return chunk
            } catch {
                switch mistake {
                case .endsAtAnError where !(error is CancellationError): return nil
                case .endsAtCancellation where error is CancellationError: return nil
                case .wrapsErrors: throw TransportError(.undecodableContent, at: .body, underlying: error)
                default: throw error
                }
            }
        }

        var trailers: HTTPFields? {
            mistake == .dropsTrailers ? nil : reader.trailers
        }
    }
}

extension Data {
    fileprivate var undoubled: [UInt8] {
        enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
    }
}

extension HTTPFields {
    /// The fields of each name as one.
    init(joining fields: HTTPFields) {
        self.init()
        for field in fields { self[field.name] = fields[field.name] }
    }
}

/// A layer that keeps responses which stay fresh.
struct KeepingConnection: ComposedConnection {
    /// The typical mistakes of layers that keep or share responses.
    enum Mistake: Sendable {
        case keysByPath, keysByPrincipalAlone, keysByAuthorizationAlone, ignoresDeclaredSecrets, sharesFlights, isSilent
        case readsAhead, believesDeclarations
    }

    let base: AnyConnection
    var mistake: Mistake?
    private let memory = Memory()

    init(base: AnyConnection, mistake: Mistake? = nil) {
        self.base = base
        self.mistake = mistake
    }

    var layer: Layer {
        Layer(name: "keeping", role: .caching, facts: mistake == .isSilent ? [] : [.answers, .sharesResponses])
    }

    func send(_ request: consuming Request) async throws -> Response {
        var request = request
        guard request.head.method == .get, let key = key(of: request) else { return try await base.send(request) }
        if var response = memory.response(for: key) {
            response.metadata.source = .cache
            return response
        }
        if mistake == .sharesFlights {
            return try await memory.flight(for: key) { [base, request] in try await base.send(request) }
        }
        let sent = request.collectSent()
        var response = try await base.send(request)
        guard mistake == .believesDeclarations || sent.allowsSharing else { return response }
        guard response.status == .ok, response.head.headerFields[.cacheControl]?.contains("max-age") == true else {
            return response
        }
        let head = response.head
        if mistake == .readsAhead { response.body = Body(try await response.body.data(upTo: 1 << 20)) }
        response.body = response.body.teed(upTo: 1 << 20) { [memory] content, _ in
            memory.keep(Response(head: head, body: Body(content)), for: key)
        }
        return response
    }

    private func key(of request: Request) -> AnyHashableSendable? {
        let path = request.head.path ?? ""
        switch mistake {
        case .keysByPath, .sharesFlights: return .init(path)
        case .keysByPrincipalAlone: return .init([path, "\(request.options.principal.hashValue)"])
        case .keysByAuthorizationAlone: return .init([path, request.head.headerFields[.authorization] ?? ""])
        case .ignoresDeclaredSecrets:
            var known = request
            known.options.secretFields = []
            return ResponseKey(known).map { .init($0) }
        case .isSilent, .readsAhead, .believesDeclarations, nil: return ResponseKey(request).map { .init($0) }
        }
    }
}

/// A key of any type.
private struct AnyHashableSendable: Hashable, Sendable {
    private let equals: @Sendable (AnyHashableSendable) -> Bool
    private let value: any Hashable & Sendable

    init<Value: Hashable & Sendable>(_ value: Value) {
        self.value = value
        equals = { other in other.value as? Value == value }
    }

    static func == (lhs: Self, rhs: Self) -> Bool { lhs.equals(rhs) }

    func hash(into hasher: inout Hasher) { value.hash(into: &hasher) }
}

private final class Memory: Sendable {
    private struct State {
        var responses: [AnyHashableSendable: Response] = [:]
        var flights: [AnyHashableSendable: Task<Response, any Error>] = [:]
    }

    private let state = Mutex(State())

    func response(for key: AnyHashableSendable) -> Response? { state.withLock { $0.responses[key] } }

    func keep(_ response: Response, for key: AnyHashableSendable) { state.withLock { $0.responses[key] = response } }

    /// Gives all who come while a request is under way its response.
    func flight(
        for key: AnyHashableSendable, _ send: @escaping @Sendable () async throws -> Response
    ) async throws -> Response {
        let task = state.withLock { state in
            if let task = state.flights[key] { return task }
            let task = Task {
                var response = try await send()
                response.body = Body(try await response.body.data(upTo: 1 << 20))
                return response
            }
            state.flights[key] = task
            return task
        }
        let result = await task.result
        state.withLock { $0.flights[key] = nil }
        return try result.get()
    }
}

/// Values that a decorator with a mistake keeps, or that a decorator without one keeps in order.
final class Kept<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    var all: [Value] { values.withLock { $0 } }

    func keep(_ value: Value) {
        values.withLock { $0.append(value) }
    }
}

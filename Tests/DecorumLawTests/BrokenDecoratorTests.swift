import Decorum
import DecorumConformance
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// The laws themselves, held to decorators that break one of them, and those others alone that the mistake breaks too.
@Suite(.timeLimit(.minutes(5))) struct BrokenDecoratorTests {
    @Test(arguments: BrokenDecorator.all)
    func `A broken decorator is caught by the laws that it breaks, and by no other`(decorator: BrokenDecorator) async {
        var broken: [DecoratorLaw] = []
        var sentences: [String] = []
        for law in DecoratorLaw.all {
            do {
                try await law.check(adding: decorator.addedFields, decorator.decorate)
            } catch {
                #expect(error is ConformanceFailure, "\(law)")
                broken.append(law)
                sentences.append("\(error)")
            }
        }

        #expect(broken.contains(decorator.law), "\(sentences)")
        #expect(Set(broken).subtracting(decorator.others) == [decorator.law], "\(sentences)")
    }

    @Test func `Every law has a decorator that breaks it`() {
        let laws = BrokenDecorator.all.map(\.law) + PlantedMistake.all.map(\.law)
        #expect(Set(laws) == Set(DecoratorLaw.all))
    }
}

struct BrokenDecorator: Sendable, CustomTestStringConvertible {
    let law: DecoratorLaw
    /// Further laws that the same mistake breaks.
    let others: Set<DecoratorLaw>
    let testDescription: String
    let addedFields: Set<HTTPField.Name>
    let decorate: @Sendable (AnyConnection) throws -> any Connection

    init(
        _ law: DecoratorLaw, and others: Set<DecoratorLaw> = [], _ name: String,
        adding addedFields: Set<HTTPField.Name> = [],
        _ decorate: @escaping @Sendable (AnyConnection) throws -> any Connection
    ) {
        self.law = law
        self.others = others
        testDescription = name
        self.addedFields = addedFields
        self.decorate = decorate
    }

    static let all = bodies + fields + outcomes + deadlines + layers

    private static let bodies: [BrokenDecorator] = [
        .init(.requestBodiesOnce, "reads the content to hash it, and forwards the body") { base in
            Broken(base) { request, base in
                if request.body.replay > .once { _ = try? await request.body.data(upTo: 1 << 20) }
                return try await base.send(request)
            }
        },
        .init(.requestStreaming, "reads an upload ahead") { base in
            Broken(base) { request, base in
                var request = request
                request.body = request.body.read(ReadingAhead.init)
                return try await base.send(request)
            }
        },
        .init(.requestTrailers, "forgets the trailers of a request") { base in
            Broken(base) { request, base in
                var request = request
                request.body = request.body.read(WithoutTrailers.init)
                return try await base.send(request)
            }
        },
        .init(.responseBodiesOnce, "loses what is behind 16 KiB") { base in
            Broken(base) { request, base in
                var response = try await base.send(request)
                response.body = response.body.read { Cut(reader: $0) }
                return response
            }
        },
        .init(.responseStreaming, "reads a download ahead") { base in
            Broken(base) { request, base in
                var response = try await base.send(request)
                response.body = response.body.read(ReadingAhead.init)
                return response
            }
        },
        .init(.responseTrailers, "forgets the trailers of a response") { base in
            Broken(base) { request, base in
                var response = try await base.send(request)
                response.body = response.body.read(WithoutTrailers.init)
                return response
            }
        },
        .init(.bodyErrors, "wraps the errors of bodies") { base in
            Broken(base) { request, base in
                var response = try await base.send(request)
                response.body = response.body.read { Mapping(reader: $0) { error in .failure(error.wrapped) } }
                return response
            }
        },
        .init(.bodyErrors, "ends a request's content where it fails") { base in
            Broken(base) { request, base in
                var request = request
                request.body = request.body.read { Mapping(reader: $0) { _ in .success(nil) } }
                return try await base.send(request)
            }
        },
        .init(.bodyCancellation, "takes a cancelled reading for the end") { base in
            Broken(base) { request, base in
                var response = try await base.send(request)
                response.body = response.body.read {
                    Mapping(reader: $0) { $0 is CancellationError ? .success(nil) : .failure($0) }
                }
                return response
            }
        },
        .init(.earlyDrop, "keeps the bodies of responses") { base in
            let bodies = Box<[Body]>([])
            return Broken(base) { request, base in
                let response = try await base.send(request)
                bodies.value.withLock { $0.append(response.body) }
                return response
            }
        },
    ]

    private static let outcomes: [BrokenDecorator] = [
        .init(.concurrency, and: [.principals], "passes requests through one place") { base in
            let place = Box<Request?>(nil)
            return Broken(base) { request, base in
                place.value.withLock { $0 = request }
                await Task.yield()
                return try await base.send(place.value.withLock { $0 } ?? request)
            }
        }
    ]

    private static let deadlines: [BrokenDecorator] = [
        .init(.deadlines, "forgets the deadline") { base in
            Broken(base) { request, base in
                var request = request
                request.options.deadline = nil
                return try await base.send(request)
            }
        },
        .init(.declaredTimes, "declares a time limit that it does not keep") { base in
            Broken(base, layer: Layer(name: "broken", time: .init(limit: .atMost(.seconds(1))))) { request, base in
                try await base.send(request)
            }
        },
        .init(.declaredTimes, and: [.release], "reads an error for as long as it comes") { base in
            Broken(base) { request, base in
                var response = try await base.send(request)
                guard response.status == .badGateway else { return response }
                response.body = Body(try await response.body.data(upTo: 1 << 20))
                return response
            }
        },
        .init(.deadlines, "gives a request more time than its caller") { base in
            Broken(base) { request, base in
                var request = request
                request.options.deadline = .now + .seconds(60)
                return try await base.send(request)
            }
        },
    ]

    private static let layers: [BrokenDecorator] = [
        .init(.layerOrder, "names itself last") { base in MisplacedLayer(base: base) },
        .init(.declaredEffects, "names the user in silence") { base in
            Broken(base) { request, base in
                var request = request
                if request.options.principal == nil { request.options.principal = Principal("broken") }
                return try await base.send(request)
            }
        },
        .init(.declaredEffects, and: [.errors], "answers with nothing, as if it had kept something") { base in
            Broken(base, facts: [.answers]) { request, base in
                do {
                    return try await base.send(request)
                } catch let error as TransportError where error.code == .unreachable {
                    return Response(status: .ok)
                }
            }
        },
        .init(.shownDeclarations, "declares what it does not do") { base in
            Broken(base, facts: [.changesContent]) { request, base in try await base.send(request) }
        },
        .init(.shownDeclarations, "declares credentials that it does not add") { base in
            Broken(base, facts: [.addsCredentials]) { request, base in try await base.send(request) }
        },
        .init(
            .shownDeclarations, "declares a signature, and adds the same key to each request",
            adding: [.first, .second]
        ) { base in keyed(base, facts: [.addsCredentials, .signs]) },
        .init(
            .shownDeclarations, "binds the key that it declares, and not the other one", adding: [.first, .second]
        ) { base in
            let bound = keyed(base, facts: [.addsCredentials, .bindsToOrigins])
            return Broken(base, layer: bound.layer) { request, base in
                guard request.head.authority == "foreign.example" else { return try await bound.send(request) }
                var request = request
                request.head.headerFields[.second] = "second"
                return try await base.send(request)
            }
        },
    ]
}

struct Broken: ComposedConnection {
    let base: AnyConnection
    let layer: Layer
    let sending: @Sendable (Request, AnyConnection) async throws -> Response

    init(
        _ base: AnyConnection, facts: Set<Layer.Fact> = [], layer: Layer? = nil,
        _ sending: @escaping @Sendable (Request, AnyConnection) async throws -> Response
    ) {
        self.base = base
        self.sending = sending
        self.layer = layer ?? Layer(name: "broken", facts: facts)
    }

    func send(_ request: consuming Request) async throws -> Response {
        try await sending(request, base)
    }
}

private struct MisplacedLayer: ComposedConnection {
    let base: AnyConnection

    var layers: [Layer] { base.layers + [layer] }

    func send(_ request: consuming Request) async throws -> Response {
        try await base.send(request)
    }
}

private final class Box<Value: Sendable>: Sendable {
    let value: Mutex<Value>

    init(_ value: Value) {
        self.value = Mutex(value)
    }
}

extension Error {
    /// The error wrapped in another one, unless it is a cancellation.
    fileprivate var wrapped: any Error {
        self is CancellationError ? self : TransportError(.other, at: .head, underlying: self)
    }
}

/// A layer that adds the same two keys to each request, and declares one as secret.
private func keyed(_ base: AnyConnection, facts: Set<Layer.Fact>) -> Broken {
    let layer = Layer(name: "broken", facts: facts.union([.changesSignedParts]), secretFields: [.first])
    return Broken(base, layer: layer) { request, base in
        var request = request
        request.head.headerFields[.first] = "first"
        request.head.headerFields[.second] = "second"
        request.options.secretFields.insert(.first)
        return try await base.send(request)
    }
}

extension HTTPField.Name {
    fileprivate static let first = HTTPField.Name("X-First-Key") ?? .authorization
    fileprivate static let second = HTTPField.Name("X-Second-Key") ?? .authorization
}

extension BrokenDecorator {
    static let fields: [BrokenDecorator] = [
        .init(.requestFields, "joins the fields of a request") { base in
            Broken(base) { request, base in
                var request = request
                request.head.headerFields = request.head.headerFields.joined
                return try await base.send(request)
            }
        },
        .init(.requestFields, and: [.idleness], "writes the names of fields in lower case") { base in
            Broken(base) { request, base in
                var request = request
                request.head.headerFields = HTTPFields(
                    request.head.headerFields.compactMap { field in
                        HTTPField.Name(field.name.canonicalName).map { HTTPField(name: $0, value: field.value) }
                    })
                return try await base.send(request)
            }
        },
        .init(.requestFields, and: [.idleness], "sorts fields") { base in
            Broken(base) { request, base in
                var request = request
                request.head.headerFields = HTTPFields(request.head.headerFields.sorted { $0.value < $1.value })
                return try await base.send(request)
            }
        },
        .init(.emptyResponses, "takes every answer of a type for one with content") { base in
            Broken(base) { request, base in
                let response = try await base.send(request)
                let isJSON = response.head.headerFields[.contentType] == "application/json"
                guard !isJSON || !response.body.isEmpty else { throw TransportError(.truncated, at: .body) }
                return response
            }
        },
        .init(.emptyResponses, "tells the length of a 204") { base in
            Broken(base) { request, base in
                var response = try await base.send(request)
                if response.status == .noContent { response.head.headerFields[.contentLength] = "0" }
                return response
            }
        },
        .init(
            .declaredSecrets, and: [.shownDeclarations], "adds credentials in a field that it does not name",
            adding: [.userAgent]
        ) { base in
            Broken(base, facts: [.changesSignedParts, .addsCredentials]) { request, base in
                var request = request
                request.head.headerFields[.userAgent] = "broken; key=1"
                return try await base.send(request)
            }
        },
        .init(.idleness, and: [.shownDeclarations], "asks again behind the caller's back") { base in
            Broken(base, facts: [.resends]) { request, base in
                let response = try await base.send(request)
                if request.body.length == 4 { Task { _ = try? await base.send(request) } }
                return response
            }
        },
        .init(.responseFields, "joins the fields of a response") { base in
            Broken(base) { request, base in
                var response = try await base.send(request)
                response.head.headerFields = response.head.headerFields.joined
                return response
            }
        },
        .init(.idleness, "adds an unrequested field") { base in
            Broken(base, facts: [.changesSignedParts]) { request, base in
                var request = request
                request.head.headerFields[.userAgent] = "broken"
                return try await base.send(request)
            }
        },
        .init(.idleness, and: [.shownDeclarations], "asks before it asks", adding: [.userAgent]) { base in
            Broken(base, facts: [.resends]) { request, base in
                if request.body.length == 4 { _ = try await base.send(Request(head: request.head)) }
                return try await base.send(request)
            }
        },
        .init(.declaredChanges, "adds a field in silence", adding: [.userAgent]) { base in
            Broken(base) { request, base in
                var request = request
                request.head.headerFields[.userAgent] = "broken"
                return try await base.send(request)
            }
        },
        .init(.options, and: [.deadlines], "makes a new request") { base in
            Broken(base) { request, base in try await base.send(Request(head: request.head, body: request.body)) }
        },
        .init(.metadata, "makes a new response") { base in
            Broken(base) { request, base in
                let response = try await base.send(request)
                return Response(head: response.head, body: response.body)
            }
        },
    ]
}

extension HTTPFields {
    fileprivate var joined: HTTPFields {
        var fields = HTTPFields()
        for field in self {
            fields[field.name] = self[field.name]
        }
        return fields
    }
}

struct ReadingAhead: BodyReader {
    var reader: any BodyReader
    var chunks: [Data] = []

    init(reader: any BodyReader) {
        self.reader = reader
    }

    mutating func next() async throws -> Data? {
        while chunks.count < 8, let chunk = try await reader.next() {
            chunks.append(chunk)
        }
        return chunks.isEmpty ? nil : chunks.removeFirst()
    }

    var trailers: HTTPFields? { reader.trailers }
}

struct WithoutTrailers: BodyReader {
    var reader: any BodyReader

    mutating func next() async throws -> Data? {
        try await reader.next()
    }

    var trailers: HTTPFields? { nil }
}

struct Cut: BodyReader {
    var reader: any BodyReader
    var count = 0

    mutating func next() async throws -> Data? {
        guard let chunk = try await reader.next() else { return nil }
        count += chunk.count
        return count > 16 << 10 ? nil : chunk
    }

    var trailers: HTTPFields? { reader.trailers }
}

struct Mapping: BodyReader {
    var reader: any BodyReader
    let map: @Sendable (any Error) -> Result<Data?, any Error>

    mutating func next() async throws -> Data? {
        do {
            return try await reader.next()
        } catch {
            return try map(error).get()
        }
    }

    var trailers: HTTPFields? { reader.trailers }
}

extension Body {
    /// A body of the same length and replay rule, read through another reader; an empty one stays as it is.
    func read(_ wrap: @escaping @Sendable (any BodyReader) -> any BodyReader) -> Body {
        isEmpty ? self : Body(length: length, replay: replay) { wrap(try await open(at: $0)) }
    }
}

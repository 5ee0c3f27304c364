import Decorum
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The cases themselves, each checked with a transport that must fail it: a good one behind a layer that spoils it.
@Suite(.timeLimit(.minutes(5))) struct BrokenTransportTests {
    @Test func `A broken transport is caught`() async throws {
        let checks = BrokenTransport.all.flatMap { transport in transport.rules.map { (transport, $0) } }
        try await checks.forEach(atMost: 8) { transport, rule in
            await #expect(throws: ConformanceFailure.self, "\(rule), by one that \(transport)") {
                _ = try await rule.check { conditions in
                    transport.spoil(AnyConnection(URLSessionConnection(clock: conditions.clock)))
                }
            }
        }
    }
}

struct BrokenTransport: Sendable, CustomStringConvertible {
    let description: String
    let rules: [TransportCase]
    let spoil: @Sendable (AnyConnection) -> any Connection

    private init(
        _ name: String, _ rules: TransportCase..., spoil: @escaping @Sendable (AnyConnection) -> any Connection
    ) {
        description = name
        self.rules = rules
        self.spoil = spoil
    }

    private init(
        _ name: String, _ rules: TransportCase..., request change: @escaping @Sendable (inout Request) -> Void
    ) {
        description = name
        self.rules = rules
        spoil = { base in
            base.intercepting { request, base in
                var request = request
                change(&request)
                return try await base.send(request)
            }
        }
    }

    private init(
        _ name: String, _ rules: TransportCase...,
        response change: @escaping @Sendable (inout Response) async throws -> Void
    ) {
        description = name
        self.rules = rules
        spoil = { base in
            base.intercepting { request, base in
                var response = try await base.send(request)
                try await change(&response)
                return response
            }
        }
    }

    static let all: [BrokenTransport] = [
        .init("follows redirections", .redirections, .redirectionsToNowhere) { $0.followingRedirects() },
        .init("sends again", .answeredStatuses) { $0.retrying(clock: ImpatientClock()) },
        .init("sends content again", .deadConnection) { base in
            base.intercepting { request, base in
                let request = request
                do {
                    return try await base.send(request)
                } catch let error as TransportError where error.code == .connectionLost {
                    return try await base.send(request)
                }
            }
        },
        .init("caches", .caching) { $0.revalidating(in: MemoryResponseStore()) },
        .init("throws for statuses", .answeredStatuses, .challenges, .noContent) { $0.validatingStatus(.codes([200])) },
        .init("signs without a report", .reportedRequests, request: { $0 = Request(head: $0.head, body: $0.body) }),
        .init(
            "signs with a report", .reportedRequests,
            request: { $0.head.headerFields[.authorization] = "Bearer own" }),
        .init("names itself", .addedFields) { $0.addingDefaultFields([.userAgent: "broken"]) },
        .init(
            "waits for the content", .earlyHead, .chunksAsTheyArrive, .unreadDrop,
            response: { $0.body = Body(try await $0.body.data(upTo: 64 << 20)) }),
        .init(
            "takes a cut for the end", .truncatedLength, .truncatedChunks, .brokenChunks, .idleWithinBody,
            response: { response in
                let body = response.body
                response.body = Body(replay: .once) { _ in LenientReader(reader: try await body.open()) }
            }),
        .init("forgets informational responses", .informational, response: { $0.metadata.informational = [] }),
        .init(
            "joins fields", .setCookies,
            response: { $0.head.headerFields[.setCookie] = $0.head.headerFields[.setCookie] }),
        .init("cannot be cancelled", .cancellationBeforeHead, .cancelledTask) { base in
            base.intercepting { request, base in
                let request = request
                return try await Task { try await base.send(request) }.value
            }
        },
        .init(
            "ignores the time of a request", .idleBeforeHead, .noTime,
            request: { $0.options.idleTimeout = .seconds(7000) }),
        .init(
            "ignores deadlines", .deadlineBeforeHead, .deadlineOfBody, .deadlineBeforeSending,
            request: { request in
                request.options.deadline = nil
                request.options.bodyDeadline = nil
            }),
        .init(
            "ends bodies at the deadline of the head", .deadlineSparesBody,
            request: { $0.options.bodyDeadline = $0.options.deadline }),
        .init(
            "loses the content of a request", .wholeUploads, .echo, .fileUploads,
            request: { $0 = Request(head: $0.head) }),
        .init(
            "adds to the bytes that are read", .fixedLength, .chunked, .largeContent,
            response: { response in
                let body = response.body
                response.body = Body(replay: .once) { _ in AddingReader(reader: try await body.open()) }
            }),
    ]
}

private struct LenientReader: BodyReader {
    var reader: any BodyReader

    mutating func next() async throws -> Data? {
        do {
            return try await reader.next()
        } catch is TransportError {
            return nil
        }
    }

    var trailers: HTTPFields? { nil }
}

private struct AddingReader: BodyReader {
    var reader: any BodyReader

    mutating func next() async throws -> Data? {
        try await reader.next().map { $0 + [0] }
    }

    var trailers: HTTPFields? { nil }
}

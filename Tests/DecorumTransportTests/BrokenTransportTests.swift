import Decorum
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
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
        .init("signs without a report", .reportedRequests) { base in
            base.intercepting { request, base in
                try await base.send(Request(head: request.head, body: request.body))
            }
        },
        .init("signs with a report", .reportedRequests) { base in
            base.intercepting { request, base in
                var request = request
                request.head.headerFields[.authorization] = "Bearer own"
                return try await base.send(request)
            }
        },
        .init("names itself", .addedFields) { $0.addingDefaultFields([.userAgent: "broken"]) },
        .init("waits for the content", .earlyHead, .chunksAsTheyArrive, .unreadDrop) { base in
            base.intercepting { request, base in
                var response = try await base.send(request)
                response.body = Body(try await response.body.data(upTo: 64 << 20))
                return response
            }
        },
        .init("takes a cut for the end", .truncatedLength, .truncatedChunks, .brokenChunks, .idleWithinBody) { base in
            base.intercepting { request, base in
                var response = try await base.send(request)
                let body = response.body
                response.body = Body(replay: .once) { _ in LenientReader(reader: try await body.open()) }
                return response
            }
        },
        .init("forgets informational responses", .informational) { base in
            base.intercepting { request, base in
                var response = try await base.send(request)
                response.metadata.informational = []
                return response
            }
        },
        .init("joins fields", .setCookies) { base in
            base.intercepting { request, base in
                var response = try await base.send(request)
                response.head.headerFields[.setCookie] = response.head.headerFields[.setCookie]
                return response
            }
        },
        .init("cannot be cancelled", .cancellationBeforeHead, .cancelledTask) { base in
            base.intercepting { request, base in
                let request = request
                return try await Task { try await base.send(request) }.value
            }
        },
        .init("ignores the time of a request", .idleBeforeHead, .noTime) { base in
            base.intercepting { request, base in
                var request = request
                request.options.idleTimeout = .seconds(7000)
                return try await base.send(request)
            }
        },
        .init("ignores deadlines", .deadlineBeforeHead, .deadlineOfBody, .deadlineBeforeSending) { base in
            base.intercepting { request, base in
                var request = request
                request.options.deadline = nil
                request.options.bodyDeadline = nil
                return try await base.send(request)
            }
        },
        .init("ends bodies at the deadline of the head", .deadlineSparesBody) { base in
            base.intercepting { request, base in
                var request = request
                request.options.bodyDeadline = request.options.deadline
                return try await base.send(request)
            }
        },
        .init("loses the content of a request", .wholeUploads, .echo, .fileUploads) { base in
            base.intercepting { request, base in try await base.send(Request(head: request.head)) }
        },
        .init("adds to the bytes that are read", .fixedLength, .chunked, .largeContent) { base in
            base.intercepting { request, base in
                var response = try await base.send(request)
                let body = response.body
                response.body = Body(replay: .once) { _ in AddingReader(reader: try await body.open()) }
                return response
            }
        },
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

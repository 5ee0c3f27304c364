import Decorum
import DecorumConformance
import DecorumTesting
import HTTPTypes

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
        .init(
            .declaredChanges, and: [.declaredSecrets], "adds credentials without calling them secret",
            adding: [.authorization]
        ) { base in
            Broken(base, facts: [.changesSignedParts, .addsCredentials]) { request, base in
                var request = request
                request.head.headerFields[.authorization] = "Bearer broken"
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

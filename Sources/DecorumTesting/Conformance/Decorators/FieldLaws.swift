import Decorum
import HTTPTypes

extension DecoratorLaw {
    /// Demands that the fields of a request reach the transport: their repeats, their order, and names of any kind.
    ///
    /// A dictionary of fields loses repeats, a lookup by name joins them, and a fixed list of names drops unknown ones.
    /// `check(adding:)` takes the fields that the decorator adds by design.
    public static let requestFields = DecoratorLaw(
        "requestFields", "Every field of a request reaches the transport, with its repeats and in its order."
    ) { subject in
        for path in [.ordinary] + subject.activePaths {
            for method in [HTTPRequest.Method.get, .post] {
                let request = try path.request(method, fields: oddFields)
                let provoked = try await path.provoke(subject, with: request) { try $2.get() }
                for request in provoked.requests {
                    try requireFields(
                        request.head.headerFields, include: oddFields, except: subject.addedFields(on: path))
                }
            }
        }
    }

    /// Demands that the fields of a response reach the caller: their repeats, their order, and names of any kind.
    ///
    /// `Set-Cookie` is the field that cannot be joined; the others can, but a caller may tell the difference.
    public static let responseFields = DecoratorLaw(
        "responseFields", "Every field of a response reaches the caller, with its repeats and in its order."
    ) { subject in
        var fields = oddFields
        for value in ["a=1; Expires=Thu, 01 Jan 2037 00:00:00 GMT", #"b="x, y""#, "c=3"] {
            fields.append(HTTPField(name: .setCookie, value: value))
        }
        for path in subject.contentPaths {
            let provoked = try await path.provoke(subject, with: path.request()) { [fields] request, _, outcome in
                var response = try outcome.get()
                guard !subject.isOwnRequest(request.head) else { return response }
                for field in fields { response.head.headerFields.append(field) }
                return response
            }
            // The fields of a response that is kept are those that the server has confirmed it with.
            guard path.calls == 1, let response = try await path.response(of: provoked, by: subject) else { continue }
            try requireFields(response.head.headerFields, include: fields, except: [])
        }
    }

    private static func requireFields(
        _ received: HTTPFields, include fields: HTTPFields, except exceptions: Set<HTTPField.Name>
    ) throws(ConformanceFailure) {
        let names = Set(fields.map(\.name)).subtracting(exceptions)
        let lines = { (fields: HTTPFields) in
            fields.filter { names.contains($0.name) }.map { "\($0.name.rawName): \($0.value)" }
        }
        try requireEqual(lines(received), lines(fields), "The fields that arrived")
    }

    private static let oddFields: HTTPFields = {
        let lines = [
            ("X-Repeated", "1"), ("X-Other", "a, b"), ("X-Repeated", "2"), ("x-repeated", "3"), ("X-Empty", ""),
            ("!#$%&'*+-.^_`|~09", "odd"), ("X-Long", String(repeating: "x", count: 8 << 10)), ("X-Text", "naïve"),
            ("X-Repeated", "1"),
        ]
        var fields = HTTPFields()
        for (name, value) in lines {
            guard let name = HTTPField.Name(name) else { continue }
            fields.append(HTTPField(name: name, value: value))
        }
        return fields
    }()
}

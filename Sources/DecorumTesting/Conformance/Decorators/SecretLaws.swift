import Decorum
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that a layer which adds secrets names their fields in the options of the request that it sends on.
    ///
    /// `Layer.secretFields` reaches the outer layers alone. An inner redirection, log or cache learns of a secret by
    /// `RequestOptions.secretFields`. A layer that has the fact `.addsCredentials` and sets fields names those
    /// of them that hold the credentials.
    public static let declaredSecrets = DecoratorLaw(
        "declaredSecrets",
        "A secret field that a layer sets is named in the options of the request that it sends on."
    ) { subject in
        for path in [.ordinary] + subject.provocations {
            let original = try path.request()
            let provoked = try await path.provoke(subject, with: original) { try $2.get() }
            let secretFields = provoked.own.reduce(into: Set()) { $0.formUnion($1.secretFields) }
            let addsCredentials = provoked.own.contains { $0.facts.contains(.addsCredentials) }
            for request in provoked.sent {
                let carried = secretFields.filter { request.head.headerFields.contains($0) }
                let untold = carried.subtracting(request.options.secretFields)
                try require(
                    untold.isEmpty,
                    "With \(path), the options of the request do not name the secret fields \(untold), which it carries."
                )
                let changes = request.head.changes(from: original.head)
                try require(
                    !addsCredentials || changes.hasTarget || changes.fields.isEmpty || !carried.isEmpty,
                    "With \(path), a layer that adds credentials set \(changes.fields) and declares none as secret.")
            }
        }
    }

    /// Demands that the secrets of a request are in nothing that a layer writes, throws or shows.
    ///
    /// These are the fields that carry credentials by definition, and those that the options of the request name. The law
    /// looks at the log of ``DecoratorConditions``, at the descriptions of errors and of the decorator, at the layers and
    /// at the metadata.
    public static let writtenSecrets = DecoratorLaw(
        "writtenSecrets", "The secrets of a request are in no log, error, layer, description or metadata."
    ) { subject in
        for path in [.ordinary] + subject.provocations {
            let log = Monitor<[String]>([])
            var request = try path.request(fields: Secrets.fields)
            request.options.secretFields.formUnion(Secrets.names)
            let conditions = DecoratorConditions(log: LogSink { entry in log.update { $0.append(entry) } })
            let provoked = try await path.provoke(subject, with: request, on: conditions) { try $2.get() }
            if case .success(let response) = provoked.result {
                // The law allows an error while reading, but examines its description.
                do { _ = try await response.body.collectAll() } catch {
                    try requireSilence(of: error, "an error", path)
                }
                try requireSilence(of: response.metadata, "the metadata", path)
            }
            if let error = provoked.error { try requireSilence(of: error, "an error", path) }
            for layer in provoked.own { try requireSilence(of: layer, "a layer", path) }
            try requireNone(in: "\(provoked.connection)", "the description of the decorator", path)
            for entry in log.state { try requireNone(in: entry, "the log", path) }
        }
    }

    private static func requireSilence(
        of value: some Any, _ place: String, _ path: ActivePath
    ) throws(ConformanceFailure) {
        var dumped = ""
        dump(value, to: &dumped)
        for text in [String(describing: value), String(reflecting: value), dumped] {
            try requireNone(in: text, place, path)
        }
    }

    private static func requireNone(
        in text: String, _ place: String, _ path: ActivePath
    ) throws(ConformanceFailure) {
        for secret in Secrets.fields where text.contains(secret.value) {
            throw ConformanceFailure("With \(path), the secret in \(secret.name) is in \(place).")
        }
    }

    /// Demands that a request which is redirected to another origin loses its secrets.
    ///
    /// Any server that answers can name the origin of a redirection (RFC 9110, section 15.4).
    public static let redirectedSecrets = DecoratorLaw(
        "redirectedSecrets", "A redirection to another origin does not carry the request's secrets there."
    ) { subject in
        let host = "foreign.example"
        for code in [301, 302, 303, 307, 308] {
            let path = ActivePath(ofLaws: "a \(code) to another origin") { number, _ in
                guard number == 1 else { return .ok }
                return HTTPResponse(status: .init(code: code), headerFields: [.location: "https://\(host)/"])
            }
            var request = try path.request(fields: Secrets.fields)
            request.options.secretFields.formUnion(Secrets.names)
            let provoked = try await path.provoke(subject, with: request) { try $2.get() }
            for sent in provoked.sent where sent.head.authority == host {
                for secret in Secrets.fields {
                    try require(
                        !sent.head.headerFields[values: secret.name].contains(secret.value),
                        "With \(path), the secret in \(secret.name) was sent there.")
                }
            }
        }
    }
}

/// The secrets of a caller or of an outer layer; a layer knows two of them by the options alone.
private enum Secrets {
    static let fields: HTTPFields = {
        var fields: HTTPFields = [
            .authorization: "Bearer secret-of-authorization", .cookie: "session=secret-of-cookie",
        ]
        for name in ["X-Api-Key", "X-Vendor-Field"] {
            guard let name = HTTPField.Name(name) else { continue }
            fields[name] = "secret-of-\(name.canonicalName)"
        }
        return fields
    }()

    static let names = Set(fields.map(\.name))
}

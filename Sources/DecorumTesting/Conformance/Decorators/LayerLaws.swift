import Decorum
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that a decorator's own layer stands before those of its base.
    ///
    /// Layers find out from `Connection.layers` what happens further in, such as whether credentials are added.
    public static let layerOrder = DecoratorLaw(
        "layers are in order", "The layers are the decorator's own, named, followed by those of the base."
    ) { subject in
        let probe = Probe { _, _ in Response(status: .ok) }
        let layers = try subject.connection(over: probe).layers
        try require(
            Array(layers.suffix(probe.layers.count)) == probe.layers,
            "The layers \(layers) do not end with the base's.")
        try require(layers.count > probe.layers.count, "The decorator is not among the layers \(layers).")
        try require(layers.allSatisfy { !$0.name.isEmpty }, "A layer has no name.")
        try require(
            layers.dropLast().allSatisfy { $0.role != .transport },
            "A layer that wraps another calls itself a transport.")
    }

    /// Demands that a layer which sends more than once for a call says so.
    public static let declaredResending = DecoratorLaw(
        "resending is declared", "A layer that sends more than once for a call has the fact “resends”."
    ) { subject in
        for provocation in Provocation.all {
            let provoked = try await provocation.provoke(subject, with: .lawful()) { _, _, outcome in
                Response(head: try outcome.get())
            }
            try require(
                provoked.requests.count <= 1 || provoked.own.contains { $0.facts.contains(.resends) },
                "After \(provocation), a call was sent \(provoked.requests.count) times, which no layer declares.")
        }
    }

    /// Demands that a layer which answers without sending says so.
    public static let declaredAnswering = DecoratorLaw(
        "answering is declared", "A layer that answers a call without sending it has the fact “answers”."
    ) { subject in
        for provocation in Provocation.all {
            let provoked = try await provocation.provoke(subject, with: .lawful()) { _, _, outcome in
                Response(head: try outcome.get())
            }
            guard case .success = provoked.result, provoked.requests.isEmpty else { continue }
            try require(
                provoked.own.contains { $0.facts.contains(.answers) },
                "After \(provocation), a call was answered without being sent, which no layer declares.")
        }
    }

    /// Demands that a layer which changes a request says so, and names the fields that hold its secrets.
    ///
    /// A signature must be made after every change, a redirection to another origin must drop every secret, and a log
    /// must not show one. A layer that adds fields has the fact “changes signed parts”, or names all of them in
    /// `Layer.secretFields`. A field that carries credentials by definition, such as `Authorization`, is always among
    /// those, and its layer has the fact “adds credentials”.
    public static let declaredChanges = DecoratorLaw(
        "changes are declared", "A layer that changes requests declares it, and names the fields that hold secrets."
    ) { subject in
        for provocation in Provocation.all {
            for original in [try Request.lawful(), Request(head: relativeHead)] {
                let provoked = try await provocation.provoke(subject, with: original) { _, _, outcome in
                    Response(head: try outcome.get())
                }
                for request in provoked.requests {
                    try requireDeclared(request.head.changes(from: original.head), by: provoked.own, provocation)
                }
            }
        }
    }

    private static let relativeHead = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/resource")

    private static func requireDeclared(
        _ changes: HeadChanges, by layers: [Layer], _ provocation: Provocation
    ) throws(ConformanceFailure) {
        let secretFields = layers.reduce(into: Set()) { $0.formUnion($1.secretFields) }
        let facts = layers.reduce(into: Set()) { $0.formUnion($1.facts) }

        let credentials = changes.fields.intersection([.authorization, .proxyAuthorization, .cookie])
        try require(
            credentials.isSubset(of: secretFields),
            "After \(provocation), the request carries credentials in \(credentials), which no layer calls secret.")
        try require(
            changes.fields.isDisjoint(with: secretFields) || facts.contains(.addsCredentials),
            "After \(provocation), a secret field was added, and no layer declares that it adds credentials.")
        guard !facts.contains(.changesSignedParts) else { return }
        try require(
            !changes.hasTarget, "After \(provocation), the method or the target changed, which no layer declares.")
        let undeclared = changes.fields.subtracting(secretFields)
        try require(undeclared.isEmpty, "After \(provocation), no layer declares that it sets \(undeclared).")
    }
}

/// What differs between two heads.
private struct HeadChanges {
    let hasTarget: Bool
    let fields: Set<HTTPField.Name>
}

extension HTTPRequest {
    fileprivate func changes(from original: HTTPRequest) -> HeadChanges {
        var head = self
        head.headerFields = original.headerFields
        let names = Set((headerFields + original.headerFields).map(\.name))
        let changed = names.filter { headerFields[values: $0] != original.headerFields[values: $0] }
        return HeadChanges(hasTarget: head != original, fields: changed)
    }
}

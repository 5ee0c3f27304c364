import Decorum
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that a decorator's own layer stands before those of its base.
    ///
    /// Layers learn from `Connection.layers` about the inner layers, such as whether they add credentials.
    public static let layerOrder = DecoratorLaw(
        "layerOrder", "The layers are the decorator's own, named, followed by those of the base."
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

    /// Demands that a layer which sends more than once for a call says so, and how often.
    public static let declaredResending = DecoratorLaw(
        "declaredResending", "A layer that sends more than once for a call has the fact `.resends`, and a number."
    ) { subject in
        for path in subject.provocations {
            let provoked = try await path.provoke(subject, with: path.request()) { _, _, outcome in
                try outcome.get()
            }
            try require(
                provoked.requests.count <= 1 || provoked.own.contains { $0.facts.contains(.resends) },
                "After \(path), a call was sent \(provoked.requests.count) times, which no layer declares.")
            let most = provoked.own.reduce(1) { most, layer in
                let (product, overflows) = most.multipliedReportingOverflow(by: layer.sending.times.upperBound)
                return overflows ? .max : product
            }
            try require(
                provoked.requests.count <= max(most, 0),
                "After \(path), a call was sent \(provoked.requests.count) times, and the layers declare \(most).")
        }
    }

    /// Demands that a layer which answers in the place of its base says so.
    ///
    /// This includes a layer that has sent the request and got only a failure from the base.
    public static let declaredAnswering = DecoratorLaw(
        "declaredAnswering", "A layer that answers without an answer of its base has the fact `.answers`."
    ) { subject in
        for path in subject.provocations {
            let answers = Monitor(0)
            let provoked = try await path.provoke(subject, with: path.request()) { _, _, outcome in
                let response = try outcome.get()
                answers.update { $0 += 1 }
                return response
            }
            guard case .success = provoked.result, answers.state == 0 else { continue }
            try require(
                provoked.mayAnswer, "After \(path), a call was answered without the base, which no layer declares.")
        }
    }

    /// Demands that a layer which changes a request says so, and names the fields that hold its secrets.
    ///
    /// A signature must be made after every change, a redirection to another origin must drop every secret, and a log
    /// must not show one. A layer that adds fields has the fact `.changesSignedParts`, or names all of them in
    /// `Layer.secretFields`. A field that carries credentials by definition, such as `Authorization`, is always among
    /// those, and its layer has the fact `.addsCredentials`.
    public static let declaredChanges = DecoratorLaw(
        "declaredChanges", "A layer that changes requests declares it, and names the fields that hold secrets."
    ) { subject in
        for path in subject.provocations {
            for original in try path.isOfLaws ? [path.request(), Request(head: relativeHead)] : [path.request()] {
                let provoked = try await path.provoke(subject, with: original) { _, _, outcome in
                    try outcome.get()
                }
                for request in provoked.requests {
                    try requireDeclared(request.head.changes(from: original.head), by: provoked.own, path)
                }
            }
        }
    }

    private static let relativeHead = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/resource")

    private static func requireDeclared(
        _ changes: HeadChanges, by layers: [Layer], _ path: ActivePath
    ) throws(ConformanceFailure) {
        let secretFields = layers.reduce(into: Set()) { $0.formUnion($1.secretFields) }
        let facts = layers.reduce(into: Set()) { $0.formUnion($1.facts) }

        let credentials = changes.fields.intersection(HTTPField.Name.credentials)
        try require(
            credentials.isSubset(of: secretFields),
            "After \(path), the request carries credentials in \(credentials), which no layer calls secret.")
        try require(
            changes.fields.isDisjoint(with: secretFields) || facts.contains(.addsCredentials),
            "After \(path), a secret field was added, and no layer declares that it adds credentials.")
        guard !facts.contains(.changesSignedParts) else { return }
        try require(
            !changes.hasTarget, "After \(path), the method or the target changed, which no layer declares.")
        let undeclared = changes.fields.subtracting(secretFields)
        try require(undeclared.isEmpty, "After \(path), no layer declares that it sets \(undeclared).")
    }
}

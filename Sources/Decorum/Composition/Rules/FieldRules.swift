extension CompositionRule {
    /// Changes of requests that a layer further out has to know.
    static let fields = [
        tooFarIn(.fieldsInsideOfCache, .warning) { layer, other in
            layer.changesFields && other.has(.sharesResponses)
        } consequence: { layer, others in
            "\(layer) adds fields too late for \(others): a stored response that varies by them is not found, or is the wrong "
                + "one, and nothing is stored for a request without a principal."
        },
        tooFarOut(.contentChangedOutsideOfCache, .information) { layer, other in
            layer.has(.changesContent) && other.has(.sharesResponses)
        } consequence: { layer, others in
            "Requests with content, such as a `QUERY`, are kept apart in \(others) by what \(layer) has made of it."
        },
    ]
}

extension Layer {
    /// Whether the layer changes parts of a request that its response may depend on, for the same user.
    fileprivate var changesFields: Bool {
        role == .preparation && has(.changesSignedParts) && !has(.changesContent) && !has(.decodesContent)
            && !has(.identifiesCalls) && !has(.setsOrigin) && !has(.addsCredentials)
    }
}

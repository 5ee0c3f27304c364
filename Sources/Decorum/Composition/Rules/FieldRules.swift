extension CompositionRule {
    /// Changes of requests that a layer further out has to know.
    static let fields = [
        tooFarIn(.fieldsInsideOfCache, .warning) { layer, other in
            layer.changesFields && other.has(.sharesResponses)
        } consequence: { layer, others in
            "\(others) compares requests that lack what \(layer) adds further in, so that it finds no response that varies by "
                + "it, or a wrong one, and stores nothing for a request without a principal."
        },
        tooFarOut(.contentChangedOutsideOfCache, .information) { layer, other in
            layer.has(.changesContent) && other.has(.sharesResponses)
        } consequence: { layer, others in
            "\(others) tells the requests with content, such as a `QUERY`, apart by what \(layer) has made of it."
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

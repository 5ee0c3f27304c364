extension CompositionRule {
    /// Signatures that do not fit the request that is sent.
    static let signatures = [
        tooFarOut(.signatureOutsideOfRetries, .error) { layer, other in
            layer.has(.signs) && other.retries
        } consequence: { layer, others in
            "All attempts of \(others) carry one signature of \(layer), so that a server refuses them for their old date or "
                + "for their nonce."
        },
        tooFarOut(.signatureOutsideOfRedirections, .error) { layer, other in
            layer.has(.signs) && other.role == .redirection
        } consequence: { layer, others in
            "\(others) sends the signature that \(layer) made for one URL to another URL, where it is wrong."
        },
        tooFarOut(.signatureOutsideOfWaits, .error) { layer, other in
            layer.has(.signs) && other.onlyWaits
        } consequence: { layer, others in
            "The signature of \(layer) grows old while \(others) holds the request back."
        },
        tooFarOut(.signatureOutsideOfChanges, .error) { layer, other in
            // A redirection has a hazard of its own; another credential stands beside the signature.
            layer.has(.signs) && (other.has(.changesSignedParts) || other.has(.changesContent))
                && !other.isTransport && other.role != .redirection && other.role != .authentication
        } consequence: { layer, others in
            "\(others) changes the request after \(layer) has signed it, so the signature does not cover what is sent."
        },
    ]
}

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
            "The signature that \(layer) made for one URL is sent by \(others) to another URL, where it is wrong."
        },
        tooFarOut(.signatureOutsideOfWaits, .error) { layer, other in
            layer.has(.signs) && other.onlyWaits
        } consequence: { layer, others in
            "The signature of \(layer) grows old while the request waits in \(others)."
        },
        tooFarOut(.signatureOutsideOfChanges, .error) { layer, other in
            // A redirection has a hazard of its own; another credential stands beside the signature.
            layer.has(.signs) && (other.has(.changesSignedParts) || other.has(.changesContent))
                && !other.isTransport && other.role != .redirection && other.role != .authentication
        } consequence: { layer, others in
            "The request is changed by \(others) after \(layer) has signed it, so that the signature does not cover what is "
                + "sent."
        },
    ]
}

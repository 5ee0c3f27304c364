import Synchronization

/// The advice of a cache to name a principal, which it gives once.
final class PrincipalAdvice: Sendable {
    private let isGiven = Atomic(false)

    /// The advice in words.
    static let text =
        "nothing is kept for such requests until they name the user: set RequestOptions.principal, or apply acting(for:) "
        + "after the cache, so that the cache sees the principal; a StandardStack takes `principal:` (this is said once)"

    /// A reason, with the advice where the reason is the missing principal and the advice has not been given before.
    func completing(_ detail: String?, for cause: ForwardCause, _ reason: NotStored?) -> String? {
        guard let detail, cause == .noPrincipal || reason?.isMissingPrincipal == true else { return detail }
        return isGiven.exchange(true, ordering: .relaxed) ? detail : "\(detail); \(Self.text)"
    }
}

extension NotStored {
    fileprivate var isMissingPrincipal: Bool {
        if case .noPrincipal = self { true } else { false }
    }
}

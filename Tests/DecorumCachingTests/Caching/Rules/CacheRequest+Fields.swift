import HTTPTypes

@testable import Decorum

extension CacheRequest {
    /// The directives of a request without declared secrets.
    init(_ fields: HTTPFields, use: CacheUse) {
        self.init(fields, TellingFields(fields, declaredSecret: [], countsCookie: false), use: use)
    }
}

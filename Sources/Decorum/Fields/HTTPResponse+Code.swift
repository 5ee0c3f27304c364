import HTTPTypes

extension HTTPResponse {
    /// The code of the status.
    ///
    /// `status` also brings the reason phrase, which takes twice as long; most layers read the code of each response.
    package var code: Int {
        // An `HTTPResponse` holds three digits.
        pseudoHeaderFields.status.value.utf8.reduce(0) { 10 * $0 + Int($1 & 15) }
    }
}

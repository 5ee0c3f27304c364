import HTTPTypes

extension HTTPResponse {
    /// The code of the status.
    ///
    /// `status` also brings the reason phrase, which takes twice as long; most layers read the code of each response.
    var code: Int {
        // An `HTTPResponse` holds three digits.
        var code = 0
        for digit in pseudoHeaderFields.status.value.utf8 { code = 10 * code + Int(digit & 15) }
        return code
    }
}

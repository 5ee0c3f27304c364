import Decorum

private func httpDate(request: inout Request, clock: any DatedClock) {
    let modified = HTTPDate("Sun, 06 Nov 1994 08:49:37 GMT", at: clock.date)
    request.head.headerFields[.ifModifiedSince] = modified?.description
}

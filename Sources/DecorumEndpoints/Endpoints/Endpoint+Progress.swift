public import Decorum

extension Endpoint {
    /// Reports the sending of the content; see `Body.reportingProgress(every:clock:to:)`.
    ///
    /// - Parameters:
    ///   - interval: The shortest time between two reports.
    ///   - clock: The clock that measures the time.
    ///   - report: Gets the progress; it may belong to the main actor.
    /// - Returns: An endpoint that makes the same call.
    public func reportingUpload(
        every interval: Duration = .milliseconds(100), clock: any DatedClock = SystemClock(),
        to report: @escaping ProgressReport
    ) -> Self {
        var endpoint = self
        endpoint.content = content.reportingProgress(every: interval, clock: clock, to: report)
        return endpoint
    }

    /// Reports the arrival of an accepted response's content; see `Body.reportingProgress(every:clock:to:)`.
    ///
    /// The total is not known where the content is decompressed on its way, since `Content-Length` counts the compressed bytes.
    ///
    /// - Parameters:
    ///   - interval: The shortest time between two reports.
    ///   - clock: The clock that measures the time.
    ///   - report: Gets the progress; it may belong to the main actor.
    /// - Returns: An endpoint that makes the same call.
    public func reportingDownload(
        every interval: Duration = .milliseconds(100), clock: any DatedClock = SystemClock(),
        to report: @escaping ProgressReport
    ) -> Self {
        var endpoint = self
        let reading = reading
        endpoint.reading = reading.preparing { response in
            response.body = response.body.reportingProgress(every: interval, clock: clock, to: report)
        }
        return endpoint
    }
}

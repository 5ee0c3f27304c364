public import Decorum
import Foundation
import HTTPTypes

/// Gets the progress of a transfer, on the actor of the closure.
public typealias ProgressReport = @isolated(any) @Sendable (TransferProgress) async -> Void

extension Body {
    /// Reports the reading of the body to a closure, in steps that a person can see.
    ///
    /// ```swift
    /// let content = RequestContent.multipart(form).reportingProgress { @MainActor progress in
    ///     bar.fraction = progress.fraction ?? 0
    /// }
    /// let upload = Endpoint<Photo>.post("photos", content: content)
    /// ```
    ///
    /// There is one report before the first byte, at most one for each interval, and one at the end. The bytes of a request
    /// count when the transport takes them, which is a little before they are sent. Another attempt reads the body again, so
    /// that its progress begins at 0 again; a transfer that fails has no report of its end.
    ///
    /// The transfer waits for the closure, so that reports arrive in order and no report is late. So the closure has to
    /// return soon.
    ///
    /// - Parameters:
    ///   - interval: The shortest time between two reports.
    ///   - clock: The clock that measures the time.
    ///   - report: Gets the progress; it may belong to the main actor.
    /// - Returns: A body with the same content, length, replay rule and media type.
    public func reportingProgress(
        every interval: Duration = .milliseconds(100), clock: any DatedClock = SystemClock(),
        to report: @escaping ProgressReport
    ) -> Body {
        let body = self
        return Body(length: length, replay: replay) { offset in
            let reader = try await body.open(at: offset)
            let meter = ProgressMeter(total: body.length, from: offset, interval: interval, at: clock.now)
            await report(meter.initial)
            return ReportingBodyReader(reader: reader, meter: meter, clock: clock, report: report)
        }.typed(as: mediaType)
    }
}

extension RequestContent {
    /// Reports the sending of the content; see `Body.reportingProgress(every:clock:to:)`.
    ///
    /// - Parameters:
    ///   - interval: The shortest time between two reports.
    ///   - clock: The clock that measures the time.
    ///   - report: Gets the progress; it may belong to the main actor.
    /// - Returns: The same content.
    public func reportingProgress(
        every interval: Duration = .milliseconds(100), clock: any DatedClock = SystemClock(),
        to report: @escaping ProgressReport
    ) -> RequestContent {
        changingBody { $0.reportingProgress(every: interval, clock: clock, to: report) }
    }
}

private struct ReportingBodyReader: BodyReader {
    /// Content in memory comes as one chunk, in which nobody would see a step.
    private static let stepSize = 64 << 10

    var reader: any BodyReader
    var meter: ProgressMeter
    let clock: any DatedClock
    let report: ProgressReport
    private var rest = Data()
    private var hasEnded = false

    init(reader: any BodyReader, meter: ProgressMeter, clock: any DatedClock, report: @escaping ProgressReport) {
        self.reader = reader
        self.meter = meter
        self.clock = clock
        self.report = report
    }

    mutating func next() async throws -> Data? {
        if rest.isEmpty { rest = try await reader.next() ?? Data() }
        guard !rest.isEmpty else {
            if !hasEnded { await report(meter.finish(at: clock.now)) }
            hasEnded = true
            return nil
        }
        let step = rest.prefix(Self.stepSize)
        rest = rest.dropFirst(step.count)
        if let progress = meter.add(step.count, at: clock.now) { await report(progress) }
        return step
    }

    var trailers: HTTPFields? { reader.trailers }
}

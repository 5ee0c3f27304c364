public import Decorum
public import DecorumArchive
import Foundation

extension HAR {
    /// Creates an archive of reports, with the times of each exchange, for the network tools of browsers.
    ///
    /// ```swift
    /// try HAR(recent.reports).document().write(to: file)
    /// ```
    ///
    /// Each attempt has an entry, if it has a report of its own; each other call has one, with the URL and the status of its
    /// last response. Reports have no fields and no content, so an entry has none either, only their sizes; and its URL is as
    /// the report shows it, without secrets. Its comment tells the story of the call. A report without an origin, such as the
    /// one of an exchange without a transport, has no entry, since the format demands a URL.
    ///
    /// The times are milliseconds, and -1 for those that are not known: `blocked` is the time before the last exchange, in
    /// layers and in attempts before it, with its wait for a connection; `connect` includes `ssl`; and `wait` includes the
    /// time for sending the request. An exchange whose begin is not known gets that of 1970, since the format demands a date.
    ///
    /// - Parameter reports: The reports, such as ``RecentReports/reports``; the entries are in the order of their begins.
    public init(_ reports: [CallReport]) {
        let told = Set(reports.lazy.filter { $0.scope == .attempt }.compactMap(\.callID))
        let exchanges = reports.filter { $0.scope == .attempt || !($0.callID.map(told.contains) ?? false) }
        let sorted = exchanges.sorted { ($0.startedAt ?? .distantPast) < ($1.startedAt ?? .distantPast) }
        self.init(entries: sorted.compactMap(Entry.init))
    }
}

extension HAR.Entry {
    fileprivate init?(_ report: CallReport) {
        guard let url = report.archivedURL else { return nil }
        let version = report.timings?.protocolVersion ?? "unknown"
        var request = HAR.Request(method: report.redirections.last?.method ?? report.method?.rawValue ?? "", url: url)
        request.httpVersion = version
        request.bodySize = Int(clamping: report.bytesSent)
        var response = HAR.Response(status: report.statusCode ?? 0)
        response.httpVersion = version
        response.content.size = Int(clamping: report.bytesReceived)
        if let coded = report.codedLength {
            response.bodySize = Int(clamping: coded)
            response.content.compression = Int(clamping: max(0, report.bytesReceived) - max(0, coded))
        } else if report.codings.isEmpty, report.source != .cache {
            response.bodySize = Int(clamping: report.bytesReceived)
        }
        switch report.outcome {
        case .failed(let name): response.failure = (report.errorText ?? name).withoutControls
        case .cancelled: response.failure = "cancelled"
        case .finished, .abandoned: break
        }
        self.init(
            request: request, response: response, startedAt: report.startedAt,
            timings: HAR.Timings(report.timings, head: report.timeToHead, end: report.duration))
        time = time.roundedTime
        serverIPAddress = report.timings?.remoteAddress
        comment = report.explain()
    }
}

extension CallReport {
    /// The URL that was asked last; nil if only a part of it is known.
    fileprivate var archivedURL: String? {
        var url = HAR.written(finalURL ?? "/")
        if url.firstRange(of: "://") == nil {
            guard let origin else { return nil }
            url = "\(origin)" + (url.hasPrefix("/") ? "" : "/") + url
        }
        guard let authority = url.firstRange(of: "://"),
            let path = url[authority.upperBound...].firstIndex(where: { "/?".contains($0) })
        else { return url }
        // The format demands a URI (RFC 3986), whose path and query have fewer characters than those that are sent.
        return url[..<path] + PercentCoding.encode(String(url[path...]), keeping: "%:/?@!$&'()*+,;=")
    }
}

extension HAR.Timings {
    /// The parts of the last exchange; without them, what a layer that observes has seen.
    fileprivate init(_ timings: TransferTimings?, head: Duration?, end: Duration?) {
        self.init()
        guard let timings, let firstByte = timings.firstByte?.milliseconds else {
            let known = head ?? end ?? timings?.total
            wait = (known?.milliseconds ?? 0).roundedTime
            receive = max(0, (end?.milliseconds ?? wait) - wait).roundedTime
            return
        }
        let last = timings.total?.milliseconds ?? firstByte
        let parts = timings.parts(until: last)
        func time(_ part: WaterfallRow.Part) -> Double? { parts.first { $0.part == part }.map { $0.end - $0.start } }
        let (connected, secured, queued) = (time(.connect), time(.handshake), time(.wait))
        if let lookup = time(.lookup) { dns = lookup.roundedTime }
        if connected != nil || secured != nil { connect = ((connected ?? 0) + (secured ?? 0)).roundedTime }
        if let secured { ssl = secured.roundedTime }
        wait = (time(.firstByte) ?? 0).roundedTime
        receive = (time(.body) ?? 0).roundedTime
        // The body may have been read long after it had arrived, so the head tells when the last exchange began.
        let before = head.map { $0.milliseconds - firstByte } ?? end.map { $0.milliseconds - last } ?? -1
        if before >= 0 || queued != nil { blocked = (max(0, before) + (queued ?? 0)).roundedTime }
    }
}

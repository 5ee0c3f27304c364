import Decorum
import HTTPTypes

extension TransportCase {
    /// How layers learn what is sent.
    public static let reports: [TransportCase] = [.reportedRequests]

    /// Layers that share or store responses need to know what was sent: see `SentRequests`.
    ///
    /// A transport that adds fields, such as an app's defaults, adds them before it reports the request.
    public static let reportedRequests = TransportCase(
        "reportedRequests", "Each request is reported as it is sent, with all fields that the app chose."
    ) { subject in
        let bench = try await subject.bench()
        for method in [HTTPRequest.Method.get, .head, .post] {
            var request = try bench.request(
                method, "/page", fields: [.accept: "text/plain"], body: method == .post ? "hello" : .empty)
            bench.origin.enqueue(LoopbackOrigin.Answer(body: "page"))
            let sent = request.collectSent()
            _ = try await bench.connection.send(request).body.data(upTo: 100)
            try require(
                sent.difference == nil,
                "A \(method) was sent, of which the transport says: \(sent.difference?.description ?? "").")
        }
    }
}

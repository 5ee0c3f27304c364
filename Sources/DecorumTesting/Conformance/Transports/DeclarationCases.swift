import Decorum
import Foundation
import HTTPTypes

extension TransportCase {
    /// The declarations of a transport's layer, held against its behaviour in both directions.
    public static let declarations: [TransportCase] = [.declaredSending, .declaredDecoding]

    /// A transport that sends a request again by itself declares how often; any other transport declares that it sends
    /// once.
    ///
    /// The bounds of a stack are computed from this number.
    public static let declaredSending = TransportCase(
        "declaredSending", "A request is sent as often as the transport's layer says."
    ) { subject in
        var most = 1
        var layer = Layer(name: "")
        for method in [HTTPRequest.Method.get, .delete, .post] {
            let bench = try await subject.bench()
            layer = bench.connection.layers.last ?? layer
            _ = try await bench.content(of: .init(body: "ok"))
            // Reads the request on the pooled connection and closes it, as a server that is restarted does.
            bench.origin.enqueue(.closing)
            bench.origin.route(nil, "/once", .init(body: "second"))
            let request = try bench.request(method, "/once")
            _ = try? await withDeadline(of: .seconds(10), "A dead connection made a request hang.") {
                try await bench.connection.send(request).body.drain(upTo: 100)
            }
            most = max(most, bench.origin.requests.count { $0.path == "/once" })
        }
        try require(
            layer.sending.times.contains(most),
            "A request was sent \(most) times, and the layer declares \(layer.sending.times).")
        try require(
            most > 1 || layer.sending.times.upperBound <= 1,
            "The layer declares that it sends up to \(layer.sending.times.upperBound) times, and has sent once.")
    }

    /// A transport that undoes content codings declares it, and one that does not declares nothing.
    public static let declaredDecoding = TransportCase(
        "declaredDecoding", "Content codings are undone where the transport's layer says so, and nowhere else."
    ) { subject in
        let bench = try await subject.bench()
        let coded = Data(
            base64Encoded:
                "H4sIAAAAAAACAxXLwQ2AMAwDwFU8AGIaFkDgNIjioKbdH/q/25w4Qp3qCMOOxnxDyQU1VEDFKA6Lhozntz5056TnZcY2X6VK9/UD+Zo2lUsAAAA="
        )
        bench.origin.enqueue(.init(fields: ["Content-Encoding": "gzip"], body: coded ?? Data()))
        let response = try await bench.connection.send(bench.request(fields: [.acceptEncoding: "gzip"]))
        let isDecoded = try await response.body.data(upTo: 1 << 16) != coded
        try requireEqual(
            bench.connection.layers.last?.facts.contains(.decodesContent), isDecoded,
            "The declaration that content is decoded")
    }
}

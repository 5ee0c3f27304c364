import Decorum
import HTTPTypes

extension DecoratorLaw {
    /// Demands that a response which the caller does not get is released before the next request is sent.
    ///
    /// Its transfer holds a connection to the server. While the layer waits or sends again, it takes the place that the
    /// next attempt needs; with one connection for each host, the two wait for each other. A layer may read a short rest,
    /// up to 1 MiB, so that the connection can be used again.
    public static let release = DecoratorLaw(
        "release", "A response that is not returned ends before anything more is sent."
    ) { subject in
        for path in subject.provocations {
            let transfers = Monitor<[BodyProbe]>([])
            let held = Monitor(0)
            let provoked = try await path.provoke(subject, with: path.request()) { request, _, outcome in
                let count = transfers.state.count(where: \.isHeld)
                held.update { $0 = max($0, count) }
                let answer = try await outcome.get().carried(for: request.head.method, chunks: 1024)
                let content = answer.content
                let index = transfers.update { transfers in
                    transfers.append(content)
                    return transfers.count - 1
                }
                var response = answer.response
                response.metadata[TransferNumberKey.self] = index
                return response
            }
            try require(
                held.state == 0, "After \(path), an earlier response was still held when more was sent.")

            let returned = (try? provoked.result.get())?.metadata[TransferNumberKey.self]
            for (index, transfer) in transfers.state.enumerated() where index != returned {
                try require(
                    !transfer.isHeld || returned == nil,
                    "After \(path), a discarded response was still held when another was returned.")
                // After the caller got another answer, a layer may read a response in order to store it.
                guard returned != nil || !provoked.mayAnswer else { continue }
                try require(
                    transfer.state.bytesRead <= 1 << 20,
                    "After \(path), more than 1 MiB of a discarded response was read.")
            }
        }
    }
}

private enum TransferNumberKey: ResponseMetadataKey {
    static let defaultValue: Int? = nil
}

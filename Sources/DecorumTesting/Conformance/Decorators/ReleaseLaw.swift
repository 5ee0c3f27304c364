import Decorum
import HTTPTypes

extension DecoratorLaw {
    /// Demands that a response which the caller does not get is let go before the next request goes out.
    ///
    /// Its transfer holds a connection to the server. Held while the layer waits or sends again, it takes the place
    /// that the next attempt needs; with one connection for each host, the two wait for each other. A short rest may be
    /// read, so that the connection can be used again; no more than 1 MiB of it.
    public static let release = DecoratorLaw(
        "discarded responses are released", "A response that is not returned ends before anything more is sent."
    ) { subject in
        for provocation in Provocation.all {
            let transfers = Monitor<[BodyProbe]>([])
            let held = Monitor(0)
            let provoked = try await provocation.provoke(subject, with: .lawful()) { _, number, outcome in
                let count = transfers.state.count(where: \.isHeld)
                held.update { $0 = max($0, count) }
                let content = BodyProbe()
                let index = transfers.update { transfers in
                    transfers.append(content)
                    return transfers.count - 1
                }
                var response = Response(head: try outcome.get(), body: content.body(chunks: 1024))
                response.metadata[TransferNumberKey.self] = index
                return response
            }
            try require(
                held.state == 0, "After \(provocation), an earlier response was still held when more was sent.")

            let returned = (try? provoked.result.get())?.metadata[TransferNumberKey.self]
            for (index, transfer) in transfers.state.enumerated() where index != returned {
                try require(
                    !transfer.isHeld || returned == nil,
                    "After \(provocation), a discarded response was still held when another was returned.")
                try require(
                    transfer.state.chunksRead * BodyProbe.chunkSize <= 1 << 20,
                    "After \(provocation), more than 1 MiB of a discarded response was read.")
            }
        }
    }
}

private enum TransferNumberKey: ResponseMetadataKey {
    static let defaultValue: Int? = nil
}

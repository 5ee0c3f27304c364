import Decorum

extension ResponseStore {
    /// Starts to keep the response to a request that is sent now.
    func writer(for response: StoredResponse, key: ResponseKey) async -> (any ResponseWriter)? {
        await writer(for: response, key: key, with: ticket(for: key))
    }
}

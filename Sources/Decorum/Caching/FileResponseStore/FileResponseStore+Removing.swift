extension FileResponseStore {
    /// Removes every response under a key, in all stores on the directory.
    public func removeResponses(for key: ResponseKey) async {
        secrets.removeResponses(for: key)
        await remove(.key(ResponseKeyDigest(key)))
    }

    /// Removes the responses under a key that answer earlier requests than that of the ticket, if the ticket is current.
    ///
    /// A response on the disk is removed whichever store has written it. Of the responses that are kept only in memory,
    /// those of this store are removed.
    public func removeResponses(for key: ResponseKey, before ticket: StoreTicket) async {
        await secrets.removeResponses(for: key, before: ticket)
        guard !key.holdsSecret else { return }
        let digest = ResponseKeyDigest(key)
        await files.threads.changing.perform { [files] in files.changes.removeFiles(of: digest, before: ticket) }
    }

    /// Removes every response of a URI, of all principals, in all stores on the directory.
    public func removeResponses(at uri: ResponseKey.URI) async {
        secrets.removeResponses(at: uri)
        await remove(.uri(ResponseKeyDigest(uri)))
    }

    /// Removes every response that was stored on behalf of a principal, in all stores on the directory.
    public func removeResponses(of principal: Principal?) async {
        secrets.removeResponses(of: principal)
        await remove(.principal(digest: ResponseKeyDigest.digest(of: principal)))
    }

    /// Removes every response, in all stores on the directory.
    public func removeAllResponses() async {
        secrets.removeAllResponses()
        await remove(.all)
    }

    private func remove(_ removal: ResponseFileRemoval) async {
        await files.threads.changing.perform { [files] in files.changes.remove(removal) }
    }
}

extension Sequence where Element: Sendable {
    /// Calls a closure for each element, at most `width` at a time.
    ///
    /// It is for checks that mostly wait, such as for the deadline of a case that is expected to fail.
    public func forEach(
        atMost width: Int, _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws where Self: Sendable {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, element) in enumerated() {
                if index >= width { try await group.next() }
                group.addTask { try await body(element) }
            }
            try await group.waitForAll()
        }
    }
}

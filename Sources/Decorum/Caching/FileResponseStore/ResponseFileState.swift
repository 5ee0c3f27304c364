/// The parts of a file that say which response it holds, and to which request.
struct ResponseFileState: Sendable {
    let layout: ResponseFileLayout
    /// Which of the two slots has the newest head.
    let slotIndex: Int
    let slot: ResponseHeadSlot

    /// Reads the first part and both slots of an open file; nil where they are damaged.
    static func read<Result>(
        _ descriptor: Int32, _ length: Int64, _ fileSystem: some FileSystem, mayWait: Bool,
        _ body: (ResponseFileState, _ head: UnsafeRawBufferPointer) -> Result
    ) throws -> Result? {
        // Most heads are in the first block, which is then read with one call.
        let first = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(min(length, 4096)), alignment: 16)
        defer { unsafe first.deallocate() }
        guard unsafe try fileSystem.read(descriptor, into: first, at: 0, mayWait: mayWait) == first.count,
            let layout = unsafe ResponseFileLayout(UnsafeRawBufferPointer(first), fileLength: length)
        else { return nil }
        let (start, count) = (ResponseFileLayout.length, 2 * layout.slotLength)
        guard start + count > first.count else {
            return unsafe result(UnsafeRawBufferPointer(rebasing: first[start..<start + count]), layout, body)
        }
        let slots = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        defer { unsafe slots.deallocate() }
        guard unsafe try fileSystem.read(descriptor, into: slots, at: Int64(start), mayWait: mayWait) == count else {
            return nil
        }
        return unsafe result(UnsafeRawBufferPointer(slots), layout, body)
    }

    private static func result<Result>(
        _ slots: UnsafeRawBufferPointer, _ layout: ResponseFileLayout,
        _ body: (ResponseFileState, _ head: UnsafeRawBufferPointer) -> Result
    ) -> Result? {
        guard let (index, slot, head) = unsafe ResponseHeadSlot.newest(in: slots, nonce: layout.nonce) else {
            return nil
        }
        return unsafe body(ResponseFileState(layout: layout, slotIndex: index, slot: slot), head)
    }

    /// Reads the state of an open file, on a thread that may wait; nil where it is damaged or cannot be read.
    init?(_ descriptor: Int32, _ fileSystem: some FileSystem) {
        guard let status = try? fileSystem.status(of: descriptor), status.kind == .regular,
            let state = unsafe try? Self.read(
                descriptor, status.length, fileSystem, mayWait: true, { state, _ in state })
        else { return nil }
        self = state
    }

    init(layout: ResponseFileLayout, slotIndex: Int, slot: ResponseHeadSlot) {
        self.layout = layout
        self.slotIndex = slotIndex
        self.slot = slot
    }
}

import DecorumCompression
import Foundation

/// The bytes that wait for one coder, and room for those that come out of it.
@safe final class CodingBuffers {
    /// The most bytes that come out at a time: 64 KiB.
    static let size = 64 << 10

    private var input = Data()
    private var filled = 0
    private let output: UnsafeMutablePointer<UInt8>

    init() {
        unsafe output = .allocate(capacity: Self.size)
    }

    deinit {
        unsafe output.deallocate()
    }

    var hasInput: Bool { !input.isEmpty }
    var isFull: Bool { filled == Self.size }
    var first: UInt8? { input.first }
    /// The first two bytes; nil where fewer wait.
    var firstTwo: (UInt8, UInt8)? {
        input.count > 1 ? (input[input.startIndex], input[input.startIndex + 1]) : nil
    }

    /// Whether zeros, blanks and line breaks alone wait, with which some servers pad gzip.
    var hasOnlyPadding: Bool { input.allSatisfy { [0, 0x0A, 0x0D, 0x20].contains($0) } }

    func discardInput() {
        input = Data()
    }

    func feed(_ data: Data) {
        if input.isEmpty { input = data } else { input.append(data) }
    }

    /// Runs a coder once; returns its result, and whether it took or gave anything.
    func run(_ coder: (inout decorum_buffers) -> decorum_step) -> (step: decorum_step, moved: Bool) {
        let count = input.count
        let (step, taken, given) = unsafe input.withUnsafeBytes { bytes in
            // Without input, an address that the libraries do not read.
            var buffers = unsafe decorum_buffers(
                input: bytes.bindMemory(to: UInt8.self).baseAddress ?? UnsafePointer(output), input_count: count,
                output: output + filled, output_count: Self.size - filled)
            let step = unsafe coder(&buffers)
            return unsafe (step, count - buffers.input_count, Self.size - filled - buffers.output_count)
        }
        input = taken == count ? Data() : input.dropFirst(taken)
        filled += given
        return (step, taken > 0 || given > 0)
    }

    /// Takes the bytes that have come out; nil where there are none.
    func takeOutput() -> Data? {
        guard filled > 0 else { return nil }
        defer { filled = 0 }
        return unsafe Data(bytes: output, count: filled)
    }
}

import Foundation
import Synchronization

/// Numbers that tasks, and processes with one file, change at the same time.
///
/// `@safe`, since only atomics are reached through the pointer, and the mapping lives as long as this object.
@safe final class SharedNumbers: Sendable {
    struct Unavailable: Error {}

    private nonisolated(unsafe) let numbers: UnsafeMutablePointer<Atomic<Int>>
    private let length: Int

    /// Opens the numbers in a file; those of a new file are 0.
    init(_ file: URL, count: Int) throws {
        length = count * MemoryLayout<Atomic<Int>>.stride
        let descriptor = unsafe open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Unavailable() }
        defer { close(descriptor) }
        // Shared and whole, so that all processes see one memory; the system sets new bytes to 0.
        guard ftruncate(descriptor, off_t(length)) == 0,
            let address = unsafe mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            unsafe address != MAP_FAILED
        else { throw Unavailable() }
        unsafe numbers = unsafe address.bindMemory(to: Atomic<Int>.self, capacity: count)
    }

    deinit {
        unsafe munmap(numbers, length)
    }

    subscript(_ index: Int) -> Int {
        unsafe numbers[index].load(ordering: .sequentiallyConsistent)
    }

    /// Adds to a number, and returns the sum.
    func add(_ summand: Int = 1, to index: Int) -> Int {
        unsafe numbers[index].add(summand, ordering: .sequentiallyConsistent).newValue
    }

    /// Sets a number that is lower.
    func raise(_ index: Int, to value: Int) {
        _ = unsafe numbers[index].max(value, ordering: .sequentiallyConsistent)
    }
}

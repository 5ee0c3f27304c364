import Decorum

/// Elements that wait by priority, first come, first served within one, and each of which may leave at any time.
///
/// Each tenth element that is taken is the oldest of all, so that those of a low priority get a turn too. All steps take constant
/// time for each pair of a priority and a group in use, of which there are few, however many elements wait.
struct WaitingQueue<Element> {
    /// The elements of one priority and one group, in the order in which they came.
    private struct Line {
        let priority: Int
        let group: RequestGroup?
        var count = 0
        /// Their numbers, among numbers of elements that have left; the first and the last one still wait.
        var numbers: ArraySlice<Int> = []
    }

    /// The elements by their numbers.
    private(set) var elements: [Int: (element: Element, priority: Int, group: RequestGroup?)] = [:]
    /// The lines with elements, by falling priority.
    private var lines: [Line] = []
    private var lastNumber = 0
    private var taken = 0

    var count: Int { elements.count }

    /// The number of elements whose priority is at least as high, some groups left out.
    func count(from priority: Int, without isLeftOut: (RequestGroup?) -> Bool) -> Int {
        lines.reduce(0) { $0 + ($1.priority >= priority && !isLeftOut($1.group) ? $1.count : 0) }
    }

    /// Adds an element, and returns its number.
    mutating func append(_ element: Element, priority: Int, group: RequestGroup? = nil) -> Int {
        lastNumber += 1
        elements[lastNumber] = (element, priority, group)
        let index = line(of: priority, group)
        lines[index].numbers.append(lastNumber)
        lines[index].count += 1
        return lastNumber
    }

    /// Takes the element whose turn it is among those whose priority is high enough, some groups left out.
    mutating func takeNext(from priority: Int, without isLeftOut: (RequestGroup?) -> Bool) -> Element? {
        let heads = lines.compactMap { line in
            line.priority >= priority && !isLeftOut(line.group) ? line.numbers.first.map { (line.priority, $0) } : nil
        }
        guard let (highest, _) = heads.first else { return nil }
        taken += 1
        let isForOldest = taken % 10 == 0
        return heads.filter { isForOldest || $0.0 == highest }.map(\.1).min().flatMap { remove($0) }
    }

    /// Takes the last element of the lowest priority, some groups left out; nil unless that is lower than a priority.
    mutating func takeLeastImportant(
        below priority: Int, without isLeftOut: (RequestGroup?) -> Bool = { _ in false }
    ) -> Element? {
        let lines = lines.filter { !isLeftOut($0.group) }
        guard let lowest = lines.last?.priority, lowest < priority else { return nil }
        return remove(lines.reduce(0) { $1.priority == lowest ? max($0, $1.numbers.last ?? 0) : $0 })
    }

    /// Removes the element with a number; nil if it has left already.
    @discardableResult mutating func remove(_ number: Int) -> Element? {
        guard let (element, priority, group) = elements.removeValue(forKey: number) else { return nil }
        let index = line(of: priority, group)
        lines[index].count -= 1
        if lines[index].count == 0 {
            lines.remove(at: index)
        } else {
            trimLine(at: index)
        }
        return element
    }

    /// Removes all elements of a group; nil for all elements.
    mutating func removeAll(of group: RequestGroup?) -> [Element] {
        let numbers = lines.filter { group == nil || $0.group == group }.flatMap(\.numbers)
        return numbers.compactMap { remove($0) }
    }

    private mutating func line(of priority: Int, _ group: RequestGroup?) -> Int {
        if let index = lines.firstIndex(where: { $0.priority == priority && $0.group == group }) { return index }
        let index = lines.firstIndex { $0.priority < priority } ?? lines.endIndex
        lines.insert(Line(priority: priority, group: group), at: index)
        return index
    }

    /// Drops numbers of elements that have left, each of them once.
    private mutating func trimLine(at index: Int) {
        while let first = lines[index].numbers.first, elements[first] == nil { lines[index].numbers.removeFirst() }
        while let last = lines[index].numbers.last, elements[last] == nil { lines[index].numbers.removeLast() }
        if lines[index].numbers.count > 2 * lines[index].count + 16 {
            lines[index].numbers.removeAll { [elements] in elements[$0] == nil }
        }
    }
}

/// Elements that wait by priority, first come, first served within one, and each of which may leave at any time.
///
/// Each tenth element that is taken is the oldest of all, so that those of a low priority get a turn too. All steps take constant
/// time for each of the priorities in use, of which there are few, however many elements wait.
struct WaitingQueue<Element> {
    /// The place of an element, which is given to another one after it has left.
    struct Place: Sendable, Hashable {
        fileprivate let index: Int
        fileprivate let number: UInt64
    }

    private struct Slot {
        var element: Element?
        var number: UInt64 = 0
        var priority = 0
        var previous: Int?
        var next: Int?
    }

    /// The elements of one priority, in the order in which they came.
    private struct Line {
        let priority: Int
        var first: Int?
        var last: Int?
        var count = 0
    }

    private var slots: [Slot] = []
    private var free: [Int] = []
    /// The lines by falling priority; one without elements stays, since its priority comes again.
    private var lines: [Line] = []
    private var lastNumber: UInt64 = 0
    private var taken = 0
    private(set) var count = 0
    /// The number of lines and slots that were looked at.
    private(set) var steps = 0

    var isEmpty: Bool { count == 0 }

    /// The elements in no particular order.
    var elements: [Element] { slots.compactMap(\.element) }

    /// The number of elements whose priority is at least as high.
    func count(from priority: Int) -> Int {
        lines.prefix { $0.priority >= priority }.reduce(0) { $0 + $1.count }
    }

    /// The lowest priority of an element; nil without elements.
    var lowestPriority: Int? { lines.last { $0.count > 0 }?.priority }

    mutating func append(_ element: Element, priority: Int) -> Place {
        lastNumber += 1
        let line = line(of: priority)
        let slot = Slot(element: element, number: lastNumber, priority: priority, previous: lines[line].last)
        let index = free.popLast() ?? slots.count
        if index == slots.count { slots.append(slot) } else { slots[index] = slot }
        if let last = lines[line].last { slots[last].next = index } else { lines[line].first = index }
        lines[line].last = index
        lines[line].count += 1
        count += 1
        return Place(index: index, number: lastNumber)
    }

    /// Takes the element whose turn it is among those whose priority is high enough.
    mutating func takeNext(from priority: Int) -> Element? {
        let used = lines.indices.filter { lines[$0].count > 0 && lines[$0].priority >= priority }
        steps += lines.count
        guard let highest = used.first else { return nil }
        taken += 1
        var line = highest
        if used.count > 1, taken % 10 == 0 {
            line = used.min { number(ofFirstIn: $0) < number(ofFirstIn: $1) } ?? highest
        }
        return lines[line].first.flatMap { remove(at: $0) }
    }

    /// Takes the element that is the least important: the last one of the lowest priority.
    mutating func takeLeastImportant() -> Element? {
        steps += lines.count
        return lines.last { $0.count > 0 }?.last.flatMap { remove(at: $0) }
    }

    /// Removes an element; nil if it has left already.
    @discardableResult mutating func remove(_ place: Place) -> Element? {
        guard slots[place.index].number == place.number else { return nil }
        return remove(at: place.index)
    }

    /// Removes all elements of a kind, in the order in which they came.
    mutating func removeAll(where isRemoved: (Element) -> Bool) -> [Element] {
        let indices = slots.indices.filter { slots[$0].element.map(isRemoved) ?? false }
        return indices.sorted { slots[$0].number < slots[$1].number }.compactMap { remove(at: $0) }
    }

    private func number(ofFirstIn line: Int) -> UInt64 { lines[line].first.map { slots[$0].number } ?? .max }

    private mutating func line(of priority: Int) -> Int {
        var index = 0
        while index < lines.count, lines[index].priority > priority { index += 1 }
        steps += index + 1
        guard index == lines.count || lines[index].priority != priority else { return index }
        lines.insert(Line(priority: priority), at: index)
        return index
    }

    private mutating func remove(at index: Int) -> Element? {
        let slot = slots[index]
        let line = line(of: slot.priority)
        slots[index] = Slot()
        free.append(index)
        if let previous = slot.previous { slots[previous].next = slot.next } else { lines[line].first = slot.next }
        if let next = slot.next { slots[next].previous = slot.previous } else { lines[line].last = slot.previous }
        lines[line].count -= 1
        count -= 1
        return slot.element
    }
}

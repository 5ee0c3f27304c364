#if os(Linux)
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import Decorum

/// Requests that wait for a connection to their host before libcurl knows them.
@Suite(.timeLimit(.minutes(3))) struct CurlAdmissionTests {
    private let host = CurlHost(isSecure: false, authority: "a.example")
    private let other = CurlHost(isSecure: false, authority: "b.example")

    /// The numbers that are admitted, of the numbers that ask in order.
    private func admitted(
        _ numbers: [Int], to host: CurlHost, by admission: inout CurlAdmission<Int>, isSharing: Bool = false
    ) -> [Int] {
        var admitted: [Int] = []
        for number in numbers where admission.admits(number, to: host, isSharing: isSharing) { admitted.append(number) }
        return admitted
    }

    @Test func `A host has as many as its limit, and the first that waits is the next`() {
        var admission = CurlAdmission<Int>(limit: 2) { _ in true }

        let started = admitted([1, 2, 3, 4, 5], to: host, by: &admission)
        var next: [[Int]] = []
        for _ in 0..<5 { next.append(admission.leave(host, isSharing: false)) }

        #expect(started == [1, 2])
        #expect(next == [[3], [4], [5], [], []])
        #expect(admission.waitingCount == 0)
    }

    @Test func `A host that shares its connections lets all through, also the waiting ones`() {
        var admission = CurlAdmission<Int>(limit: 1) { _ in true }
        let started = [
            admitted([1, 2], to: host, by: &admission, isSharing: true), admitted([3, 4], to: host, by: &admission),
            admission.leave(host, isSharing: false), admission.leave(host, isSharing: true),
        ]
        #expect(started == [[1, 2], [], [], [3, 4]])
    }

    @Test func `A host that turns out to share its connections lets all through at once`() {
        var admission = CurlAdmission<Int>(limit: 1) { $0 != 3 }
        let started = [
            admitted([1, 2, 3, 4], to: host, by: &admission), admission.admit(to: host),
            admission.leave(host, isSharing: true), admission.admit(to: other),
        ]
        #expect(started == [[1], [2, 4], [], []])
        #expect(admission.waitingCount == 0)
    }

    @Test func `A host that has answered with HTTP/2 stays one that shares`() throws {
        let multi = try #require(try CurlMulti(CurlLibrary()))
        let context = CurlTransfer.Context(CurlOptions(secureVersion: 0, clearVersion: 0), multi)
        let secure = CurlHost(isSecure: true, authority: "a.example")
        context.noteVersion(of: secure, isHTTP1: true)
        #expect(context.http1Hosts == [secure] && context.upgraded.isEmpty)
        context.noteVersion(of: secure, isHTTP1: false)
        #expect(context.http1Hosts.isEmpty && context.upgraded == [secure])
        context.noteVersion(of: secure, isHTTP1: true)
        #expect(context.http1Hosts.isEmpty)
        context.noteVersion(of: host, isHTTP1: true)
        #expect(context.http1Hosts.isEmpty)
    }

    @Test func `Exchanges that have ended take no place, and are not kept for long`() {
        let ended = Mutex<Set<Int>>([])
        var admission = CurlAdmission<Int>(limit: 1) { number in ended.withLock { !$0.contains(number) } }
        var started = admitted([0], to: host, by: &admission)
        for number in 1...10_000 {
            started += admitted([number], to: host, by: &admission)
            if number == 5000 { continue }
            _ = ended.withLock { $0.insert(number) }
            admission.noteEnd(for: host)
        }
        let keptCount = admission.waitingCount
        let next = admission.leave(host, isSharing: false)
        #expect(started == [0] && next == [5000])
        #expect(keptCount < 50 && admission.waitingCount < 50)
    }

    @Test func `In any order, no place is lost and none is given twice`() {
        let chance = SeededGenerator(seed: 7)
        let hosts = [host, other]
        let ended = Mutex<Set<Int>>([])
        var admission = CurlAdmission<Int>(limit: 3) { number in ended.withLock { !$0.contains(number) } }
        var active: [CurlHost: [Int]] = [:]
        var waiting: [CurlHost: [Int]] = [:]
        for number in 0..<20_000 {
            let host = hosts[Int(chance.next() % 2)]
            switch chance.next() % 3 {
            case 0:
                let isAdmitted = admission.admits(number, to: host, isSharing: false)
                #expect(isAdmitted == (active[host, default: []].count < 3))
                if isAdmitted {
                    active[host, default: []].append(number)
                } else {
                    waiting[host, default: []].append(number)
                }
            case 1 where active[host]?.isEmpty == false:
                active[host]?.removeFirst()
                let next = admission.leave(host, isSharing: false)
                #expect(next == Array(waiting[host, default: []].prefix(1)))
                waiting[host] = Array(waiting[host, default: []].dropFirst(next.count))
                active[host, default: []] += next
            default:
                guard let last = waiting[host]?.popLast() else { continue }
                _ = ended.withLock { $0.insert(last) }
                admission.noteEnd(for: host)
            }
        }
    }
}
#endif

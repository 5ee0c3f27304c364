#if CommandLine
import Testing

@testable import DecorumCommand

struct DoctorCommandTests {
    static let rows: [(environment: [String: String], files: [String], value: String, isMissing: Bool)] = [
        ([:], ["/etc/ssl/cert.pem"], "/etc/ssl/cert.pem", false), ([:], [], "none found", true),
        (["SSL_CERT_FILE": "/a.pem"], ["/a.pem", "/etc/ssl/cert.pem"], "/a.pem, by SSL_CERT_FILE", false),
        (["SSL_CERT_FILE": "/a.pem"], ["/etc/ssl/cert.pem"], "/a.pem, by SSL_CERT_FILE", true),
        (["SSL_CERT_FILE": "", "SSL_CERT_DIR": "/b"], ["/b"], "/b, by SSL_CERT_DIR", false),
    ]

    @Test func `Certificates are those of the environment, or of the system`() {
        for row in Self.rows {
            let item = DoctorCommand.roots(environment: row.environment) { row.files.contains($0) }
            #expect(item.value == row.value && (item.problem != nil) == row.isMissing, "\(row)")
        }
    }

    #if os(Linux)
    @Test func `An invalid proxy is a problem, and its password is not shown`() {
        let items = DoctorCommand.transport(environment: ["https_proxy": "http://user:s3cret@proxy.example:x"])
        #expect(items.last?.problem?.contains("https_proxy") == true)
        #expect(!"\(items)".contains("s3cret"))
    }
    #endif
}
#endif

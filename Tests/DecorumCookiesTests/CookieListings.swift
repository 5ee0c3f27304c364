import DecorumCookies
import Foundation
import HTTPTypes

private func keepingCookies() -> any Connection {
    let connection = SystemConnection()
        .caching(in: MemoryResponseStore())
        .keepingCookies(in: CookieJar())
        .followingRedirects()
    return connection
}

private func jarWithFile(support: URL) -> any Connection {
    let jar = CookieJar(file: PrivateFile(support.appending(path: "cookies.json")))
    let connection = SystemConnection()
        .keepingCookies(in: jar)
        .followingRedirects()
    return connection
}

private func privateFile(support: URL) -> CookieJar {
    let file = PrivateFile(support.appending(path: "cookies.json"))
    let jar = CookieJar(file: file)
    return jar
}

private func login(password: String) async throws -> Response {
    let jar = CookieJar()
    let connection = try StandardStack(for: "https://shop.example/").composed(adding: [.keepingCookies(in: jar)])
    _ = try await connection.send(.post("login", body: Body(form: ["user": "ada", "password": password])))
    let orders = try await connection.send(.get("orders"))
    return orders
}

private func signingOut(_ jar: CookieJar) -> any Connection {
    let ada = Principal("user-42")
    let connection = SystemConnection().keepingCookies(in: jar).acting(for: ada)
    jar.removeCookies(of: ada)
    return connection
}

private func sessionCookies(support: URL) {
    let jar = CookieJar(
        file: PrivateFile(support.appending(path: "cookies.json")), of: Principal("user-42"),
        keepingSessionCookies: true)
    print(jar.fileError ?? "The file is fine.")
}

private func suffixList(_ list: URL) throws -> CookieJar {
    let suffixes = try PublicSuffixes(contentsOf: list)
    let jar = CookieJar(suffixes: suffixes)
    return jar
}

private func parsing() {
    let cookie = SetCookie("session=31d4d96e; Path=/; Secure; HttpOnly; SameSite=Lax")
    print(cookie?.name ?? "", cookie?.sameSite == .lax)  // session true
}

private func readingOnServer(_ request: HTTPRequest) -> CookiePair? {
    let session = CookiePair.all(in: request.headerFields).first { $0.name == "session" }
    return session
}

private func writingOnServer(_ response: inout HTTPResponse, identifier: String) {
    var cookie = SetCookie(name: "__Host-session", value: identifier)
    cookie.path = "/"
    cookie.isSecure = true
    cookie.isHTTPOnly = true
    cookie.sameSite = .lax
    if let field = cookie.field { response.headerFields.append(field) }
}

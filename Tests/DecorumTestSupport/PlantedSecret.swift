package import Decorum
import Foundation
package import HTTPTypes
package import Testing

/// A secret at one place of an exchange.
package struct PlantedSecret: Sendable, CustomTestStringConvertible {
    package enum Part: Sendable {
        case url
        case requestField(String)
        case responseField(String)
        case requestContent(String)
        case responseContent(String)
    }

    package let part: Part
    /// The text, with a mark where the secret stands.
    package let template: String
    package let secret: String

    package init(_ part: Part, _ template: String, _ secret: String = PlantedSecret.opaque) {
        self.part = part
        self.template = template
        self.secret = secret
    }

    package var testDescription: String { "\(part) \(template)" }

    package var text: String { template.replacing("§", with: secret) }

    /// The forms in which the secret must be in no output.
    package var forms: [String] {
        let bytes = Array(secret.utf8)
        return [
            secret, String(decoding: PercentCoding.encode(bytes), as: UTF8.self), Data(bytes).base64EncodedString(),
            text.contains(secret) ? secret : text,
        ]
    }

    package func request() throws -> Request {
        switch part {
        case .url: return try .get(text)
        case .requestField(let name):
            var request = try Request.get("https://api.example.com/items")
            if let name = HTTPField.Name(name) { request.head.headerFields[name] = text }
            return request
        case .requestContent(let mediaType):
            return try .post(
                "https://api.example.com/items", fields: [.contentType: mediaType], body: Body(Data(text.utf8)))
        case .responseField, .responseContent: return try .get("https://api.example.com/items")
        }
    }

    package func response(_ status: HTTPResponse.Status = .ok) -> Response {
        switch part {
        case .responseField(let name):
            var response = Response(status: status)
            if let name = HTTPField.Name(name) { response.head.headerFields[name] = text }
            return response
        case .responseContent(let mediaType):
            return Response(status: status, fields: [.contentType: mediaType], body: Body(Data(text.utf8)))
        case .url, .requestField, .requestContent: return Response(status: status)
        }
    }
}

extension PlantedSecret {
    package static let opaque = "x7Rq2LmZ9sKd4TbVw8NcYh3J"
    package static let gitHub = "ghp_" + "x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1o"
    package static let slack = "xoxb-" + "1234567890-x7Rq2LmZ9sKd4TbVw8NcYh3J"
    package static let aws = "AKIA" + "QWERTYUIOPASDF23"
    package static let bot = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw9"
    package static let card = "4111 1111 1111 1111"
    package static let awsSecret = "q7Jr" + "lXUtnFEMI/K7MDENG+bPxRfiCY4ZpTnW3sHe"
    package static let basic = Data("me:\(opaque)".utf8).base64EncodedString()
    package static let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1c2VyLTQ4MjEifQ.c2lnbmF0dXJlc2lnbmF0dXJl"
    package static let uuid = "3f2b8c1e-5d4a-4b6f-9e7d-2a1c0b9f8e7d"

    private static let json = "application/json"
    private static let form = "application/x-www-form-urlencoded"

    package static let all: [PlantedSecret] = urls + paths + fields + names + pairs + shapes + texts + tables + others

    /// Places in which only a recording looks for secrets, since it is kept.
    package static let recorded: [PlantedSecret] =
        ["X-Shop-Key", "X-Ticket", "X-Device-Pin"].map { PlantedSecret(.requestField($0), "§") }
        + [
            PlantedSecret(.responseField("X-Upload-Ticket"), "§"),
            PlantedSecret(.requestContent("application/zip"), "PK\u{3}\u{4}…§"),
            PlantedSecret(.requestContent("application/x-protobuf"), "\u{A}\u{18}§"),
            PlantedSecret(
                .responseContent("text/event-stream"),
                "event: a\ndata:{\"name\":\"Authorization\",\"value\":\"§\"}\n\n"),
            PlantedSecret(
                .responseContent("text/event-stream"), "data: {\"code\":\"§\"}\r\n\r\ndata: [DONE]\r\n"),
            PlantedSecret(.responseContent("text/plain"), "§\n", awsSecret),
            PlantedSecret(.responseContent("text/event-stream"), "data: {\"keys\":[\"§\"]}\ndata: {\"a\":1}\n\n"),
        ]

    private static let urls: [PlantedSecret] =
        [
            "access_token=§", "api_key=§&page=2", "page=2&token=§", "client_secret=§", "code=§&state=1", "sig=§",
            "X-Amz-Signature=§", "password=§", "next=https%3A%2F%2Fa.example%2F%3Ftoken%3D§", "user%5Bpassword%5D=§",
            "filter=%7B%22token%22%3A%22§%22%7D", "session=§", "jwt=§", "oauth_token=§", "q=1&key=§", "pin=§",
            "appid=§", "app_key=§", "appKey=§", "user_key=§", "license_key=§", "serviceKey=§", "developerKey=§",
            "passkey=§", "consumer_key=§", "Key-Pair-Id=§", "magic_link=§", "backend_key=§",
        ].map { PlantedSecret(.url, "https://api.example.com/items?" + $0) }
        + [
            PlantedSecret(.responseField("Location"), "https://me:§@api.example.com/items"),
            PlantedSecret(.responseContent(json), #"{"url":"https://§@api.example.com/"}"#),
            PlantedSecret(.url, "https://api.example.com/items;jsessionid=§"),
            PlantedSecret(.url, "https://api.example.com/items?q=§", gitHub),
            PlantedSecret(.url, "https://api.example.com/§/items", slack),
        ]

    package static let paths: [PlantedSecret] = [
        ("https://hooks.slack.com/services/§", "T01ABCDEF/B02GHIJKL/x7Rq2LmZ9sKd4TbVw8NcYh3J"),
        ("https://discord.com/api/webhooks/§", "112233445566778899/x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1o"),
        ("https://api.telegram.org/bot§/getMe", bot), ("https://example.com/bot§/getMe", bot),
        ("https://outlook.office.com/webhook/§", "a1b2c3d4e5f60718/IncomingWebhook/x7rq2lmz9skd4tbv"),
        ("https://acme.webhook.office.com/webhookb2/§", "a1b2c3d4-e5f6/IncomingWebhook/x7rq2lmz9skd4tbv"),
        ("https://hooks.zapier.com/hooks/catch/§/", "123456/x7rq2l"), ("https://webhook.site/§", uuid),
        ("https://hook.eu1.make.com/§", "x7rq2lmz9skd4tbv"), ("https://hook.integromat.com/§", "x7rq2lmz9skd4tbv"),
        ("https://events.pagerduty.com/integration/§/enqueue", "x7rq2lmz9skd4tbv"),
        ("https://alert.victorops.com/integrations/§", "generic/20131114/alert/x7rq2lmz9skd4tbv/all"),
        ("https://open.feishu.cn/open-apis/bot/v2/hook/§", uuid),
        ("https://open.larksuite.com/open-apis/bot/v2/hook/§", uuid),
        ("https://api.example.com/reset/§", opaque), ("https://api.example.com/password/reset/§/edit", opaque),
        ("https://api.example.com/reset-password/§", uuid), ("https://api.example.com/verify-email/§", opaque),
        ("https://api.example.com/invite/§", opaque), ("https://api.example.com/users/confirmation/§", opaque),
        ("https://api.example.com/magic-link/§?a=1", opaque), ("https://api.example.com/webhooks/§", opaque),
        ("https://api.example.com/accounts/reset/MQ/§/", "c1x2y3-5f4dcc3b5aa765d61d8327deb882cf99"),
    ].map { PlantedSecret(.url, $0.0, $0.1) }

    private static let fields: [PlantedSecret] =
        [
            ("Authorization", "Bearer §"), ("Authorization", "token §"), ("Authorization", "Digest response=§"),
            ("Cookie", "session=§; theme=dark"), ("X-Api-Key", "§"), ("Proxy-Authorization", "Bearer §"),
            ("X-Auth-Token", "§"), ("DPoP", "§"), ("X-Amz-Security-Token", "§"), ("Sec-WebSocket-Protocol", "§"),
            ("Referer", "https://a.example/?token=§"), ("X-Context", #"{"user":{"password":"§"}}"#),
            ("X-Debug", "connect with password=§"), ("X-Acme-Pass", "§"),
        ].map { PlantedSecret(.requestField($0.0), $0.1) }
        + [
            ("Set-Cookie", "sid=§; Path=/; HttpOnly"), ("Location", "https://a.example/cb?code=§&state=1"),
            ("Location", "https://a.example/#access_token=§"), ("X-Subject-Token", "§"),
            ("Link", "<https://a.example/?page=2&token=§>; rel=next"), ("Authentication-Info", "nextnonce=§"),
            ("Refresh", "0; url=https://a.example/reset/§"),
        ].map { PlantedSecret(.responseField($0.0), $0.1) }
        + [PlantedSecret(.requestField("X-Note"), "§", gitHub), PlantedSecret(.responseField("X-Note"), "§", aws)]

    private static let names: [PlantedSecret] =
        [
            #"{"access_token":"§"}"#, #"{"user":{"password":"§"}}"#, #"{"keys":[{"api_key":"§"}]}"#,
            #"{"secret":{"a":["§"]}}"#, #"{"clientSecret":"§"}"#, #"{"data":"{\"token\":\"§\"}"}"#,
            #"{"url":"https://a.example/?token=§"}"#, #"{"authorization":"Bearer §"}"#, #"{"code":"§"}"#,
            #"{"authorization_code":"§"}"#, #"{"session_id":"§"}"#, #"{"private_key":"§"}"#, #"{"token":"§"#,
            #"callback({"token":"§"});"#, #"{"log":"retry with password=§ now"}"#, #"{"webhook_secret":"§"}"#,
            #"{"key":"§"}"#, #"{"keys":["§"]}"#, #"{"tokens":["§","§"]}"#, #"{"recovery_codes":["§"]}"#,
            #"{"session":"§"}"#, #"{"sid":"§"}"#, #"{"rt":"§"}"#, #"{"app_key":"§"}"#,
            #"{"jsonrpc":"2.0","method":"login","params":["me","§"]}"#, #"{"Env":["ACME_TOKEN=§"]}"#,
            #"{"next":"/reset/§"}"#, #"{"hook":"https://hooks.slack.com/services/T0/B0/§"}"#,
        ].flatMap {
            [PlantedSecret(.requestContent(json), $0), PlantedSecret(.responseContent(json), $0)]
        }
        + [
            PlantedSecret(.responseContent(json), #"{"password":"§"}"#, "hunter2"),
            PlantedSecret(.responseContent(json), #"{"password":"§","echo":"§","note":"it is §!"}"#, "hunter2"),
            PlantedSecret(.responseContent(json), #"{"authorization":"Basic \#(basic)","echo":"it is §!"}"#),
            PlantedSecret(.responseContent(json), #"{"session_id":§}"#, "48213377"),
            PlantedSecret(.responseContent(json), #"{"cvv":"§"}"#, "4821"),
            PlantedSecret(.responseContent(json), #"{"cardNumber":"§"}"#, "4111111111111111"),
        ]

    private static let pairs: [PlantedSecret] = [
        #"{"name":"Authorization","value":"§"}"#, #"{"value":"§","name":"Authorization"}"#,
        #"{"key":"password","value":"§"}"#, #"[{"Key":"DB_PASSWORD","Value":"§"}]"#,
        #"{"headers":[{"name":"Cookie","value":"§"},{"name":"Accept","value":"*/*"}]}"#,
        #"{"name":"X-Api-Key","enabled":true,"value":"§"}"#, #"{"header":"X-Auth-Token","val":"§"}"#,
        #"{"queryString":[{"name":"code","value":"§"}]}"#, #"{"field":"client_secret","value":"§"}"#,
        #"{"name":"token","value":"§""#,
    ].map { PlantedSecret(.responseContent(json), $0) }

    package static let shapes: [PlantedSecret] =
        [
            gitHub, slack, aws, awsSecret, token, card, "glpat-" + "x7Rq2LmZ9sKd4TbVw8Nc",
            "figd_" + opaque + "x7Rq2LmZ9sKd4TbV",
        ].map { PlantedSecret(.responseContent(json), #"{"note":"§"}"#, $0) }
        + [
            PlantedSecret(.responseContent(json), #"{"card":"§"}"#, "4111111111111111"),
            PlantedSecret(.responseContent(json), #"{"card":{"number":"§"}}"#, "378282246310005"),
            PlantedSecret(.requestContent(form), "note=§", gitHub),
            PlantedSecret(.requestContent(form), "a=1&b=§", token),
            PlantedSecret(.responseContent(json), #"{"data":"§"}"#, Data(gitHub.utf8).base64EncodedString()),
            PlantedSecret(
                .responseContent(json), #"{"data":"§"}"#, Data("{\"token\":\"\(opaque)\"}".utf8).base64EncodedString()),
            PlantedSecret(.requestContent(json), #"{"a":["§"]}"#, Data("x \(slack)".utf8).base64EncodedString()),
        ]

    private static let texts: [PlantedSecret] =
        [
            ("text/plain", "DB_PASSWORD=§"), ("text/plain", "export API_KEY=§\nA=1"), ("text/plain", "password: §\n"),
            ("text/yaml", "database:\n  user: me\n  password: §\n  port: 1\n"), ("text/yaml", "- token: '§'\n"),
            ("application/yaml", "token: §\n"), ("application/x-yaml", "secret: \"§\"\n"),
            ("text/plain", "client_secret = \"§\""), ("text/plain", "error: token: § is not valid"),
            ("text/javascript", "var csrfToken = \"§\";"), ("text/plain", "see https://a.example/?token=§ now"),
            ("text/html", "<meta name=\"csrf-token\" content=\"§\">"), ("text/html", "<a href=\"/x?token=§\">a</a>"),
            ("text/html", "<script>var api_key = '§';</script>"),
            ("text/html", "<input type=\"password\" value=\"§\">"),
            ("text/html", "<input name=csrf_token value=§>"), ("text/html", "<a href=/x?token=§>a</a>"),
            ("application/xml", "<a><password>§</password></a>"),
            ("application/xml", "<user api-key=\"§\"/>"), ("text/event-stream", "data: {\"token\":\"§\"}\n\n"),
        ].map { PlantedSecret(.responseContent($0.0), $0.1) }
        + [
            PlantedSecret(.responseContent("text/plain"), "your key: §", gitHub),
            PlantedSecret(.responseContent("text/plain"), "paid with § today", card),
            PlantedSecret(.responseContent("text/plain"), "password: §", "hunter2"),
            PlantedSecret(.requestContent(form), "pin=§", "4821"),
            PlantedSecret(.responseContent(json), #"{"pin":"§"}"#, "4821"),
        ]

    private static let tables: [PlantedSecret] = [
        ("text/csv", "user,password\nme,§\n"), ("text/csv; charset=utf-8", "\"id\";\"api_key\"\r\n1;\"§\"\r\n"),
        ("text/csv", "id,token,name\n1,§,a\n2,§,b"), ("text/tab-separated-values", "id\tsecret\n1\t§\n"),
    ].map { PlantedSecret(.responseContent($0.0), $0.1) }

    private static let others: [PlantedSecret] = [
        PlantedSecret(.requestContent(form), "grant_type=password&username=me&password=§"),
        PlantedSecret(.requestContent(form), "code=§&client_id=a"),
        PlantedSecret(.requestContent(form), "user%5Bpassword%5D=§"),
        PlantedSecret(.requestContent(form), "payload=%7B%22token%22%3A%22§%22%7D"),
        PlantedSecret(
            .requestContent("multipart/form-data; boundary=b"),
            "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n§\r\n--b--\r\n"),
        PlantedSecret(
            .requestContent("multipart/form-data; boundary=b"),
            "--b\r\nContent-Disposition: form-data; name=\"meta\"\r\nContent-Type: application/json\r\n\r\n"
                + "{\"token\":\"§\"}\r\n--b--\r\n"),
        PlantedSecret(.responseContent("application/x-ndjson"), "{\"a\":1}\n{\"token\":\"§\"}\n"),
        PlantedSecret(.responseContent("application/zip"), "PK\u{3}\u{4}…§"),
        PlantedSecret(.responseContent("application/x-protobuf"), "\u{A}\u{18}§"),
        PlantedSecret(.responseContent("application/grpc+proto"), "\u{0}\u{18}§"),
    ]
}

extension PlantedSecret {
    /// Expects that no output holds the secret, in any of its forms.
    package func expectAbsence(from outputs: [String], sourceLocation: SourceLocation = #_sourceLocation) {
        for output in outputs {
            for form in Set(forms) {
                #expect(!output.contains(form), "\(output.prefix(600))", sourceLocation: sourceLocation)
            }
        }
    }
}

extension PlantedSecret {
    /// What a recording does with a planted secret, which follows from what marks it.
    package enum Treatment {
        /// Only its shape marks it, or its content is not searched, so the file is not written.
        case refused
        /// Its place in a URL marks it, so that only a rule with the value itself leaves it.
        case replacedByPlace
        /// Its name marks it, and a rule with that name leaves it.
        case replacedByName
    }

    private static let refusedTemplates = Set(
        shapes.map(\.template) + [
            "https://api.example.com/items?q=§", "https://api.example.com/§/items", "your key: §", "paid with § today",
            "§\n", "PK\u{3}\u{4}…§", "\u{A}\u{18}§", "\u{0}\u{18}§",
        ])

    private static let templatesOfPlaces = Set(
        paths.map(\.template) + [
            "https://me:§@api.example.com/items", #"{"url":"https://§@api.example.com/"}"#,
            "0; url=https://a.example/reset/§", #"{"next":"/reset/§"}"#,
            #"{"hook":"https://hooks.slack.com/services/T0/B0/§"}"#,
        ])

    package var treatment: Treatment {
        switch part {
        case .requestField("X-Note"), .responseField("X-Note"): return .refused
        default: break
        }
        if Self.refusedTemplates.contains(template) { return .refused }
        return Self.templatesOfPlaces.contains(template) ? .replacedByPlace : .replacedByName
    }

    /// The planted secrets with which a recording does the same.
    package static func treated(_ treatment: Treatment) -> [PlantedSecret] {
        (all + recorded).filter { $0.treatment == treatment }
    }
}

"""Servers of other authors that check proofs: authlib for OAuth 1.0a and private_key_jwt, joserfc for DPoP, and httpbin for Digest.

The first argument is `authlib` or `httpbin`; its URL is written to the output, in a list of JSON. `/key` takes the public key of the client as a JSON
Web Key, or in PEM; `/oauth1…` checks a signature, `/token` an assertion, and `/dpop…` a proof, whose nonce changes with each request.
`/digest/ALGORITHM/QUALITY…` checks with hashlib what httpbin does not know: counts, queries, bodies, and sessions; its nonces are
stale after three uses, and it proves its own knowledge.
"""
import base64, hashlib, hmac, http.server, json, os, sys, time, types, urllib.parse, urllib.request

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"


def serve_httpbin():
    from wsgiref.simple_server import WSGIRequestHandler, make_server
    from httpbin import app

    class Handler(WSGIRequestHandler):
        def log_message(self, *_): pass

    server = make_server("127.0.0.1", 0, app, handler_class=Handler)
    print(json.dumps([f"http://127.0.0.1:{server.server_port}"]), flush=True)
    server.serve_forever()


def serve_authlib():
    from authlib.oauth1.rfc5849 import signature
    from authlib.oauth1.rfc5849.util import escape
    from authlib.oauth1.rfc5849.wrapper import OAuth1Request
    from authlib.oauth2.rfc7523 import JWTBearerClientAssertion
    from joserfc import jwk, jws, jwt

    # A key of RSA in a header is longer than the limit of joserfc.
    jws.JWSRegistry.max_header_length = 4096
    state = {"key": None, "nonce": 0, "seen": set(), "digest": {}}

    class Assertion(JWTBearerClientAssertion):
        def get_audiences(self): return [state["url"] + "/token"]
        def validate_jti(self, claims, jti): return unseen(jti)
        def resolve_client_public_key(self, client): return jwk.import_key(json.loads(state["key"]))

    class Client:
        def get_client_secret(self): return "se&cret"
        def get_rsa_public_key(self): return state["key"]
        def get_oauth_token_secret(self): return "tok/en"
        def check_endpoint_auth_method(self, method, endpoint): return method == "client_assertion_jwt"

    def unseen(value):
        if value in state["seen"]: return False
        state["seen"].add(value)
        return True

    def oauth1(method, url, body, headers):
        is_form = headers.get("Content-Type", "").startswith("application/x-www-form-urlencoded")
        request = OAuth1Request(method, url, body.decode() if is_form else None, headers)
        request.client = request.credential = Client()
        assert request.client_id == "consumer" and request.token == "token", "names"
        assert abs(int(request.timestamp) - time.time()) < 60, "time"
        assert unseen(request.oauth_params["oauth_nonce"]), "nonce"
        if request.signature_method == "HMAC-SHA1": return signature.verify_hmac_sha1(request)
        if request.signature_method == "RSA-SHA1": return signature.verify_rsa_sha1(request)
        assert request.signature_method == "HMAC-SHA256", "method"
        base = signature.generate_signature_base_string(request)
        key = escape("se&cret") + "&" + escape("tok/en")
        code = hmac.new(key.encode(), base.encode(), hashlib.sha256).digest()
        return base64.b64encode(code).decode() == request.signature

    def dpop(method, url, headers):
        text = headers["DPoP"]
        head = json.loads(base64.urlsafe_b64decode(text.split(".")[0] + "=="))
        assert head["typ"] == "dpop+jwt" and not set(head["jwk"]) & {"d", "p", "q", "k"}, "header"
        claims = jwt.decode(text, jwk.import_key(head["jwk"]), algorithms=[head["alg"]]).claims
        assert claims["htm"] == method and claims["htu"] == url.split("?")[0], "request"
        assert abs(claims["iat"] - time.time()) < 60 and unseen(claims["jti"]), "time"
        scheme, token = headers["Authorization"].split(" ")
        digest = base64.urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).rstrip(b"=").decode()
        assert scheme == "DPoP" and claims["ath"] == digest, "token"
        return claims.get("nonce")

    def digest(method, path, body, field):
        _, _, algorithm, quality = path.split("?")[0].split("/")[:4]
        name = algorithm.removesuffix("-sess").lower().replace("-", "").replace("sha512256", "sha512_256")

        def h(text): return hashlib.new(name, text if isinstance(text, bytes) else text.encode()).hexdigest()
        def demand(stale):
            nonce = f"nonce-{len(state['digest'])}"
            state["digest"][nonce] = 0
            return 401, {"WWW-Authenticate": f'Digest realm="a \\"door\\"", nonce="{nonce}", qop="{quality}", '
                         f"algorithm={algorithm}, charset=UTF-8, stale={stale}"}

        if not field: return demand("false")
        p = urllib.request.parse_keqv_list(urllib.request.parse_http_list(field.removeprefix("Digest ")))
        if state["digest"].get(p["nonce"], 3) >= 3: return demand("true")
        state["digest"][p["nonce"]] += 1
        assert p["username*"] == "UTF-8''J%C3%A4s%C3%B8n%20Doe" and p["uri"] == path and p["qop"] == quality, "names"
        assert int(p["nc"], 16) == state["digest"][p["nonce"]], "count"
        secret = h('J\u00e4s\u00f8n Doe:a "door":p\u00e4ss')
        if algorithm.endswith("-sess"): secret = h(f"{secret}:{p['nonce']}:{p['cnonce']}")
        use = f"{secret}:{p['nonce']}:{p['nc']}:{p['cnonce']}:{quality}:"

        def covered(start, content): return h(start + (":" + h(content) if quality == "auth-int" else ""))
        assert p["response"] == h(use + covered(f"{method}:{path}", body)), "response"
        return 200, {"Authentication-Info": f'rspauth="{h(use + covered(f":{path}", b"{}"))}", qop={quality}'}

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            url = f"http://{self.headers['Host']}{self.path}"
            status, fields, text = 200, {}, "{}"
            try:
                if self.path == "/key":
                    state["key"] = body.decode()
                elif self.path.startswith("/oauth1"):
                    if not oauth1(self.command, url, body, dict(self.headers)): status, text = 401, "signature"
                elif self.path.startswith("/digest"):
                    status, fields = digest(self.command, self.path, body, self.headers["Authorization"])
                elif self.path == "/token":
                    form = dict(urllib.parse.parse_qsl(body.decode()))
                    request = types.SimpleNamespace(form=form, client=None)
                    Assertion()(lambda identifier: Client() if identifier == "app" else None, request)
                    text = json.dumps({"access_token": "t", "token_type": "Bearer"})
                else:
                    nonce, wanted = dpop(self.command, url, self.headers), f"nonce-{state['nonce']}"
                    if nonce != wanted:
                        status, fields = 401, {"WWW-Authenticate": 'DPoP error="use_dpop_nonce"', "DPoP-Nonce": wanted}
                    else:
                        state["nonce"] += 1
            except Exception as error:
                status, text = 400, json.dumps({"error": "invalid_client", "error_description": repr(error)})
            data = text.encode()
            self.send_response(status)
            for name, value in fields.items(): self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD": self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = handle_any
        def log_message(self, *_): pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state["url"] = f"http://127.0.0.1:{server.server_port}"
    print(json.dumps([state["url"]]), flush=True)
    server.serve_forever()


serve_httpbin() if sys.argv[1] == "httpbin" else serve_authlib()

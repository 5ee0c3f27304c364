"""An authorization server of authlib on this machine, and an API that accepts its newest access token.

It rotates refresh tokens, and ends the session when one of them comes back. `/facts` counts refreshes and reuses; `/expire`
makes the newest access token invalid.
"""
import http.server, json, secrets, sys, threading, urllib.parse
from authlib.oauth2.rfc6749 import AuthorizationServer, OAuth2Request, ClientMixin, TokenMixin, grants
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc6750 import BearerTokenGenerator


class Client(ClientMixin):
    def get_client_id(self): return "app"
    def get_default_redirect_uri(self): return None
    def get_allowed_scope(self, scope): return scope or ""
    def check_redirect_uri(self, uri): return False
    def check_client_secret(self, secret): return False
    def check_endpoint_auth_method(self, method, endpoint): return method == "none"
    def check_response_type(self, response_type): return False
    def check_grant_type(self, grant_type): return grant_type == "refresh_token"


class Token(TokenMixin):
    def __init__(self, access, refresh):
        self.access, self.refresh, self.used = access, refresh, False
    def check_client(self, client): return True
    def get_scope(self): return ""
    def get_expires_in(self): return 3600
    def is_expired(self): return False
    def is_revoked(self): return self.used
    def get_user(self): return "user"
    def get_client(self): return Client()


class State:
    tokens = {"refresh-1": Token("access-1", "refresh-1")}
    access, refreshes, reuses, ended = "access-1", 0, 0, False


class Refresh(grants.RefreshTokenGrant):
    INCLUDE_NEW_REFRESH_TOKEN = True
    TOKEN_ENDPOINT_AUTH_METHODS = ["none"]

    def authenticate_refresh_token(self, refresh_token):
        State.refreshes += 1
        token = State.tokens.get(refresh_token)
        if token is None or token.used:
            # Someone has a refresh token twice, so the whole session ends.
            State.reuses += 1
            State.ended = True
        return None if State.ended else token

    def authenticate_user(self, refresh_token): return "user"
    def revoke_old_credential(self, refresh_token): refresh_token.used = True


class Server(AuthorizationServer):
    def query_client(self, client_id): return Client() if client_id == "app" else None
    def save_token(self, token, request):
        State.tokens[token["refresh_token"]] = Token(token["access_token"], token["refresh_token"])
        State.access = token["access_token"]
    def send_signal(self, name, *args, **kwargs): pass
    def create_oauth2_request(self, request): return request
    def handle_response(self, status, body, headers): return status, body, headers


server = Server()
generate = lambda *args, **kwargs: secrets.token_urlsafe(24)
server.register_token_generator("default", BearerTokenGenerator(generate, generate))
server.register_grant(Refresh)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args): pass

    def answer(self, status, headers, body):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers: self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        content = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = dict(urllib.parse.parse_qsl(content))
        request = OAuth2Request("POST", "https://127.0.0.1" + self.path, headers=dict(self.headers))
        request.payload = BasicOAuth2Payload(form)
        # In place of a form of a framework.
        type(request).form = property(lambda self: self.payload.data)
        status, body, headers = server.create_token_response(request)
        self.answer(status, headers, body)

    def do_GET(self):
        if self.path == "/facts":
            return self.answer(200, [], {"refreshes": State.refreshes, "reuses": State.reuses})
        if self.path == "/expire":
            State.access = None
            return self.answer(200, [], {})
        valid = State.access and self.headers.get("Authorization") == "Bearer " + State.access
        challenge = [("WWW-Authenticate", 'Bearer error="invalid_token"')]
        self.answer(200 if valid else 401, [] if valid else challenge, {})


http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"serving on {http.server_address[1]}.", flush=True)
# The test keeps the standard input open for as long as it runs, so that no server outlives it.
threading.Thread(target=http.serve_forever, daemon=True).start()
sys.stdin.read()

"""A server of uploads, written from their specifications, with nothing but Python's own library.

    upload_server.py [BYTES A SECOND]   serves until it is ended, and prints its URL

    /draft   the resumable upload of the IETF, with interim responses that tell the offset within the content; a HEAD does
             not tell whether an upload is complete, as with some versions, so that a request without content asks it
    /tus     tus 1.0 with creation, termination, checksum and expiration
    /facts   the uploads with their lengths and SHA-256 digests, the number of all bytes stored, and that of the requests
             whose content is being read, as JSON

It stores content as it arrives, also that of a request that breaks off, except where a checksum covers it.
"""
import base64
import hashlib
import json
import secrets
import sys
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

RATE = int(sys.argv[1]) if len(sys.argv) > 1 else 0
PROBLEM = "https://iana.org/assignments/http-problem-types#"
uploads, stored, readers = {}, 0, set()


class Upload:
    def __init__(self, length):
        self.length, self.count, self.hash, self.complete = length, 0, hashlib.sha256(), False
        self.lock, self.owner = threading.Lock(), None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, fields=(), content=b""):
        self.send_response(status)
        if self.close_connection:
            self.send_header("Connection", "close")
        for name, value in dict(fields).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else content)

    def problem(self, status, name, fields=(), **members):
        self.close_connection = True
        content = json.dumps({"type": PROBLEM + name, **members}).encode()
        self.answer(status, {"Content-Type": "application/problem+json", **dict(fields)}, content)

    def number(self, name):
        value = self.headers.get(name)
        return int(value) if value is not None and value.isdigit() else None

    def chunks(self, upload):
        """The content as it arrives, until another request for the upload comes."""
        rest, start, count = int(self.headers.get("Content-Length", 0)), time.monotonic(), 0
        readers.add(self)
        while rest:
            chunk = self.rfile.read1(min(rest, 65536))
            if not chunk or upload.owner is not self:
                self.close_connection = True
                raise ConnectionError
            rest, count = rest - len(chunk), count + len(chunk)
            if RATE:
                time.sleep(max(0, start + count / RATE - time.monotonic()))
            yield chunk
        readers.discard(self)

    def append(self, upload, chunk):
        global stored
        upload.hash.update(chunk)
        upload.count += len(chunk)
        stored += len(chunk)

    def create(self, length):
        name = secrets.token_hex(10)
        uploads[name] = Upload(length)
        uploads[name].owner = self
        return name, uploads[name]

    def find(self):
        """The upload of the URL, which an earlier request no longer changes."""
        upload = uploads.get(self.path.rpartition("/")[2])
        if upload:
            upload.owner = self
        else:
            self.close_connection = True
            self.answer(404)
        return upload

    def serve(self):
        try:
            kind = self.path.split("/")[1]
            {"draft": self.draft, "tus": self.tus, "facts": self.facts}.get(kind, lambda: self.answer(404))()
        except ConnectionError:
            readers.discard(self)
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PATCH = do_DELETE = serve

    def facts(self):
        rows = [{"length": upload.count, "digest": upload.hash.hexdigest()} for upload in uploads.values()]
        self.answer(200, {}, json.dumps({"uploads": rows, "stored": stored, "readers": len(readers)}).encode())

    # The draft of the IETF.

    def draft(self):
        complete = {"?1": True, "?0": False}.get(self.headers.get("Upload-Complete"))
        if self.command == "POST":
            name, upload = self.create(self.number("Upload-Length"))
            location = {"Location": f"/draft/{name}", "Upload-Limit": "max-size=1099511627776, max-age=3600"}
            self.interim(location)
            with upload.lock:
                self.take(upload, complete, location, 201)
        elif upload := self.find():
            with upload.lock:
                state = {"Upload-Offset": upload.count}
                if self.command == "HEAD":
                    fields = {**state, "Cache-Control": "no-store", "Upload-Limit": "max-age=3600"}
                    if upload.length is not None:
                        fields["Upload-Length"] = upload.length
                    self.answer(204, fields)
                elif self.command == "DELETE":
                    uploads.pop(self.path.rpartition("/")[2])
                    self.answer(204)
                elif self.headers.get("Content-Type") != "application/partial-upload" or complete is None:
                    self.problem(400, "about:blank")
                elif upload.complete and complete and self.headers.get("Content-Length") in (None, "0"):
                    # The answer was lost.
                    self.take(upload, complete, {}, 204)
                elif upload.complete:
                    self.problem(400, "completed-upload")
                elif self.number("Upload-Offset") != upload.count:
                    self.problem(409, "mismatching-upload-offset", {**state, "Upload-Complete": "?0"})
                else:
                    self.take(upload, complete, {}, 204)

    def interim(self, fields):
        self.send_response_only(104)
        for field in fields.items():
            self.send_header(*field)
        self.end_headers()

    def take(self, upload, complete, fields, status):
        end = upload.count + int(self.headers.get("Content-Length", 0))
        if upload.length is not None and (end > upload.length or complete and end != upload.length):
            return self.problem(400, "inconsistent-upload-length")
        for number, chunk in enumerate(self.chunks(upload)):
            self.append(upload, chunk)
            if number % 16 == 15:
                self.interim({"Upload-Offset": str(upload.count)})
        upload.complete = complete
        if complete:
            return self.answer(200, {"Upload-Complete": "?1"}, upload.hash.hexdigest().encode())
        self.answer(status, {"Upload-Complete": "?0", **fields})

    # tus.

    def tus(self):
        fields = {"Tus-Resumable": "1.0.0"}
        if self.headers.get("Tus-Resumable") != "1.0.0":
            self.close_connection = True
            return self.answer(412, {**fields, "Tus-Version": "1.0.0"})
        fields["Upload-Expires"] = formatdate(time.time() + 3600, usegmt=True)
        if self.command == "POST":
            name, upload = self.create(self.number("Upload-Length"))
            if upload.length is None:
                return self.answer(400, fields)
            for pair in filter(None, self.headers.get("Upload-Metadata", "").split(",")):
                base64.b64decode(pair.strip().partition(" ")[2], validate=True)
            return self.answer(201, {**fields, "Location": f"/tus/{name}"})
        upload = self.find()
        if not upload:
            return
        with upload.lock:
            fields["Upload-Offset"] = upload.count
            if self.command == "HEAD":
                self.answer(200, {**fields, "Upload-Length": upload.length, "Cache-Control": "no-store"})
            elif self.command == "DELETE":
                uploads.pop(self.path.rpartition("/")[2])
                self.answer(204, fields)
            elif self.headers.get("Content-Type") != "application/offset+octet-stream":
                self.close_connection = True
                self.answer(415, fields)
            elif self.number("Upload-Offset") != upload.count:
                self.close_connection = True
                self.answer(409, fields)
            else:
                self.take_tus(upload, fields)

    def take_tus(self, upload, fields):
        algorithm, _, digest = self.headers.get("Upload-Checksum", "").partition(" ")
        if algorithm:
            content = b"".join(self.chunks(upload))
            digests = {"sha1": lambda: hashlib.sha1(content).digest(),
                       "sum": lambda: bytes([sum(content) & 255])}
            if algorithm not in digests:
                return self.answer(400, fields)
            if base64.b64encode(digests[algorithm]()).decode() != digest:
                return self.answer(460, fields)
            self.append(upload, content)
        else:
            for chunk in self.chunks(upload):
                self.append(upload, chunk)
        self.answer(204, {**fields, "Upload-Offset": upload.count})


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(json.dumps([f"http://127.0.0.1:{server.server_address[1]}"]), flush=True)
server.serve_forever()

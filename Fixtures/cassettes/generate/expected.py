"""Writes EXPECTED.jsonl: the content of each cassette as PyYAML, json, base64 and zlib read it, and never Decorum.

The bodies are those that the files hold: base64 is undone, text is encoded in its charset, and chunks are joined. Content codings
stay. Where a format holds a JSON value in place of a body, the digest is that of the value with sorted members and no blanks.
"""
import base64
import gzip
import hashlib
import json
import pathlib
import re
import sys
import urllib.parse
import zlib

import yaml

folder = pathlib.Path(__file__).resolve().parent.parent


class Value(str):
    """A plain scalar of YAML, which may be more than text."""


class Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {}
    yaml_constructors = {}
    yaml_multi_constructors = {}


def scalar(loader, node):
    if node.tag.endswith(":binary") or node.tag == "!binary":
        return base64.b64decode(node.value)
    return Value(node.value) if node.style is None and node.tag == "tag:yaml.org,2002:str" else node.value


def construct(loader, suffix, node):
    if isinstance(node, yaml.ScalarNode):
        return scalar(loader, node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    value = loader.construct_mapping(node, deep=True)
    return value if re.search("BytesIO|StringIO|iter$|:map$", node.tag) else None


Loader.add_multi_constructor("", construct)


def typed(value):
    """A value of YAML as one of JSON."""
    if isinstance(value, dict):
        return {name: typed(item) for name, item in value.items()}
    if isinstance(value, list):
        return [typed(item) for item in value]
    if isinstance(value, Value):
        words = {"true": True, "false": False, "null": None, "~": None, "": None}
        if value in words:
            return words[value]
        if re.fullmatch(r"[-+]?\d+", value):
            return int(value)
        if re.fullmatch(r"[-+]?\d+\.\d*", value):
            return float(value)
    return value


def is_none(value):
    return value is None or isinstance(value, Value) and value in ("", "null", "~")


def canonical(value):
    return json.dumps(typed(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def in_base64(text):
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except Exception:
        return None


def encoded(text, charset):
    # mitmproxy writes half of a surrogate pair for a byte that is no text. Such a half is no character.
    text = re.sub("[\ud800-\udfff]", "\ufffd", text)
    try:
        return text.encode(charset or "utf-8")
    except (LookupError, UnicodeEncodeError):
        return text.encode()


def stored(text, kind, fields):
    """The bytes of a text in an archive. mitmproxy reads text without a charset as ISO-8859-1; the length tells."""
    body = encoded(text, charset_of(kind))
    length = fields.get("content-length", "")
    if length.isdigit() and len(body) != int(length) == len(text) and max(text) <= "\xff":
        return text.encode("latin-1")
    return body


def charset_of(kind):
    found = re.search(r'charset="?([^";\s]+)', kind or "", re.I)
    return found.group(1) if found else None


def as_text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def header(pairs, name):
    return next((value for key, value in pairs if key == name), "")


def pairs(headers):
    """The sorted pairs of fields that are an object, whose values are texts or lists."""
    if is_none(headers) or not headers:
        return []
    items = headers.items() if isinstance(headers, dict) else headers
    found = []
    for name, values in items:
        for value in values if isinstance(values, (list, tuple)) else [values]:
            found.append((name.lower(), as_text(value)))
    return sorted(found)


def named_pairs(headers):
    """The same for a list of objects with names and values."""
    token = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+\Z")
    found = []
    for item in headers or []:
        values = item["value"] if isinstance(item["value"], list) else [item["value"]]
        found += [(item["name"].lower(), str(value)) for value in values if token.match(item["name"])]
    return sorted(found)


def exchange(method, url, status, request, request_body, response, response_body, failed=None):
    result = {
        "method": method.lstrip(":").upper(), "url": url, "status": status,
        "reqHeaders": [list(pair) for pair in request], "respHeaders": [list(pair) for pair in response],
    }
    for name, body in (("req", request_body), ("resp", response_body)):
        result[name + "Len"] = len(body)
        result[name + "SHA"] = hashlib.sha256(body).hexdigest()
    if failed is not None:
        result["failed"] = failed
    return result


# --- VCR, betamax


def vcr_body(body):
    if is_none(body):
        return b""
    if not isinstance(body, dict):
        return as_text(body).encode()
    if not is_none(body.get("base64_string")) and body["base64_string"]:
        return base64.b64decode(body["base64_string"])
    text = body.get("string")
    if isinstance(text, bytes):
        return text
    if is_none(text):
        return b""
    name = as_text(body.get("encoding") or "")
    return text.encode() if name in ("ASCII-8BIT", "BINARY") else encoded(text, None if name in ("", "null") else name)


def vcr(root):
    for item in root["http_interactions"]:
        request, response = item["request"], item["response"]
        status = response.get("status_code") or response["status"].get("code") or response["status"].get("status_code")
        yield exchange(
            as_text(request["method"]), as_text(request["uri"]), int(status), pairs(request.get("headers")),
            vcr_body(request.get("body")), pairs(response.get("headers")), vcr_body(response.get("body")))


# --- vcrpy


def vcrpy_body(body):
    if is_none(body):
        return b""
    if isinstance(body, bytes):
        return body
    if isinstance(body, dict):
        if "args" in body:
            return vcrpy_body(body["args"])
        if "state" in body:
            return body["state"][0]
        if "buf" in body:
            return (body["buf"] + "".join(body.get("buflist") or [])).encode()
        if body.get("base64_string"):
            return base64.b64decode(body["base64_string"])
        return vcrpy_body(body.get("string"))
    if isinstance(body, list):
        return b"".join(vcrpy_body(part) for part in (body[0] if body and isinstance(body[0], list) else body))
    return body.encode()


def vcrpy(root):
    for item in root["interactions"]:
        request, response = item["request"], item["response"]
        bodies = []
        for side in (request, response):
            if "parsed_body" in side:
                bodies.append(canonical(side["parsed_body"]))
            else:
                bodies.append(vcrpy_body(side.get("body", side.get("content"))))
        status = response["status_code"] if "status_code" in response else response["status"]["code"]
        yield exchange(
            as_text(request["method"]), as_text(request["uri"]), int(status), pairs(request.get("headers")), bodies[0],
            pairs(response.get("headers")), bodies[1])


# --- go-vcr


def go_vcr(root):
    def body(value):
        return value if isinstance(value, bytes) else b"" if value is None else value.encode()

    for item in root["interactions"]:
        request, response = item["request"], item["response"]
        words = as_text(response.get("status") or "").split(" ", 1)
        code = int(response["code"]) if "code" in response else int(words[0])
        yield exchange(
            as_text(request.get("method") or "") or "GET", as_text(request["url"]), code, pairs(request.get("headers")),
            body(request.get("body")), pairs(response.get("headers")), body(response.get("body")))


# --- HAR, Polly.js, Replay


def content(response, creator, beside):
    value = response.get("content") or {}
    kind = value.get("mimeType") or ""
    if value.get("_file"):
        return (beside / value["_file"]).read_bytes()
    text = value.get("text")
    if text is None:
        return b""
    fields = dict(named_pairs(response.get("headers")))
    if creator.startswith("polly"):
        coding = fields.get("content-encoding", "identity")
        if coding != "identity" and text.startswith("["):
            chunks = json.loads(text)
            return b"".join(base64.b64decode(chunk) if value.get("encoding") else bytes.fromhex(chunk) for chunk in chunks)
        if value.get("_isBinary") and not value.get("encoding"):
            return bytes.fromhex(text)
    if value.get("encoding") == "base64" and in_base64(text) is not None:
        return in_base64(text)
    if creator.startswith("replay"):
        return text.encode()
    return stored(text, kind, fields)


def post_data(value, creator, fields):
    if not value:
        return b""
    kind = value.get("mimeType") or ""
    if value.get("textJSON") is not None:
        return canonical(value["textJSON"])
    if value.get("text"):
        marked = value.get("encoding") == "base64" or value.get("_encoding") == "base64"
        unmarked = creator.startswith("replay") and "json" not in kind and not kind.startswith("text/")
        if marked or unmarked:
            return in_base64(value["text"]) or value["text"].encode()
        return stored(value["text"], kind, fields)
    parameters = value.get("params") or []
    if parameters and "urlencoded" in kind:
        return urllib.parse.urlencode([(item["name"], item.get("value", "")) for item in parameters]).encode()
    if parameters and "multipart" in kind:
        boundary = re.search(r'boundary="?([^";]+)', kind).group(1).encode()
        body = b""
        for item in parameters:
            part = item.get("value", "").encode()
            part = base64.b64decode(part) if item.get("encoding") == "base64" else part
            head = f'Content-Disposition: form-data; name="{item["name"]}"'
            head += f'; filename="{item["fileName"]}"' if item.get("fileName") else ""
            head += f'\r\nContent-Type: {item["contentType"]}' if item.get("contentType") else ""
            body += b"--" + boundary + b"\r\n" + head.encode() + b"\r\n\r\n" + part + b"\r\n"
        return body + b"--" + boundary + b"--\r\n"
    return b""


def har(root, beside):
    creator = (root["log"].get("creator") or {}).get("name", "").lower()
    for entry in root["log"]["entries"]:
        request, response = entry["request"], entry.get("response") or {}
        status = int(response.get("status", 0))
        failed = status <= 0 or bool(response.get("_error") or response.get("_failureText"))
        yield exchange(
            request["method"], request["url"].split("#")[0], status, named_pairs(request.get("headers")),
            post_data(request.get("postData"), creator, dict(named_pairs(request.get("headers")))),
            named_pairs(response.get("headers")) if status > 0 else [],
            content(response, creator, beside) if status > 0 else b"", failed)


# --- DVR, Vinyl


def swift_body(side):
    body = side.get("body")
    kind = (side.get("headers") or {}).get("Content-Type", "")
    if body is None:
        return b""
    if isinstance(body, (dict, list)) or kind.startswith("application/json"):
        return canonical(body)
    return body.encode() if kind.startswith("text/") else in_base64(body) if in_base64(body) is not None else body.encode()


def swift(items):
    for item in items:
        request, response = item["request"], item["response"]
        failed = bool(response.get("error"))
        yield exchange(
            request.get("method") or "GET", request["url"], 0 if failed else response.get("status", 200),
            pairs(request.get("headers")), swift_body(request), pairs(response.get("headers")), swift_body(response), failed)


# --- undici, nock


def undici(root):
    items = root if isinstance(root, list) else root.values()
    for item in items:
        snapshot = item["snapshot"]
        for response in snapshot.get("responses") or [snapshot["response"]]:
            request = snapshot["request"]
            fields = []
            for name, value in response["headers"].items():
                # Only a comma before a name and an equals sign separates cookies.
                values = re.split(r",\s*(?=[^\s,;=]+=)", value) if name == "set-cookie" else [value]
                fields += [(name, item) for item in values]
            yield exchange(
                request["method"], request["url"], response["statusCode"], pairs(request.get("headers")),
                (request.get("body") or "").encode(), sorted(fields), base64.b64decode(response.get("body", "")))


def nock(root):
    for item in root:
        raw = item.get("rawHeaders") or item.get("headers") or []
        if isinstance(raw, list):
            raw = list(zip(raw[::2], raw[1::2]))
        fields, sent = pairs(raw), pairs(item.get("reqheaders"))
        coded = bool(header(fields, "content-encoding"))

        def body(value, is_binary, is_coded, kind=""):
            if value is None:
                return canonical(value) if "json" in kind else b""
            if is_coded and isinstance(value, list):
                return b"".join(bytes.fromhex(chunk) for chunk in value)
            if isinstance(value, str):
                return bytes.fromhex(value) if is_binary else value.encode()
            return canonical(value)

        sent_body = item.get("body", "")
        # Bytes that were sent are in hexadecimal, without a mark.
        is_hex = isinstance(sent_body, str) and re.fullmatch("([0-9a-f]{2})+", sent_body) is not None
        is_hex = is_hex and header(sent, "content-type") == "application/octet-stream"
        url = urllib.parse.urlsplit(item["scope"])
        usual = {"http": 80, "https": 443}[url.scheme]
        host = url.hostname if url.port in (None, usual) else f"{url.hostname}:{url.port}"
        yield exchange(
            item.get("method", "GET"), f"{url.scheme}://{host}{item['path']}", int(item["status"]), sent,
            body(sent_body, is_hex, bool(header(sent, "content-encoding"))), fields,
            body(item.get("response"), bool(item.get("responseIsBinary")), coded, header(fields, "content-type")))


def read(path):
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    elif path.suffix == ".zz":
        data = zlib.decompress(data)
    text = data.decode("utf-8-sig")
    is_json = text.lstrip()[:1] in ("{", "[")
    root = json.loads(text) if is_json else yaml.load(text, Loader)
    if isinstance(root, list):
        return undici(root) if "snapshot" in root[0] else nock(root) if "scope" in root[0] else swift(root)
    if "log" in root:
        return har(root, path.parent)
    if "http_interactions" in root:
        return vcr(root)
    if "interactions" not in root:
        return undici(root)
    first = root["interactions"][0]
    if "uri" in first["request"]:
        return vcrpy(root)
    return swift(root["interactions"]) if "name" in root else go_vcr(root)


kinds = {".yaml", ".yml", ".json", ".har", ".zz", ".gz"}
lines = []
for path in sorted(folder.rglob("*")):
    name = path.relative_to(folder).as_posix()
    if path.suffix not in kinds or name.startswith("generate/"):
        continue
    line = {"file": name}
    if name.startswith("by-hand/refused/"):
        line["expect"] = "error"
    else:
        try:
            line["interactions"] = list(read(path))
        except Exception as error:
            sys.exit(f"{name}: {error!r}")
    lines.append(json.dumps(line, ensure_ascii=False))
(folder / "EXPECTED.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
print(len(lines), "files,", sum(len(json.loads(line).get("interactions", [])) for line in lines), "exchanges")

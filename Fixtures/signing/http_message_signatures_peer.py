"""Checks requests and signs responses with http-message-signatures, a library of PyPI that shares no code with Decorum.

It reads a list of tasks from tasks.json in the current folder, and writes a list of results as JSON: for a request, the
error or an empty text; for a response, its fields.
"""
import base64
import json
from types import SimpleNamespace

from http_message_signatures import HTTPMessageSigner, HTTPMessageVerifier, HTTPSignatureKeyResolver, algorithms

ALGORITHMS = {
    getattr(algorithms, name).algorithm_id: getattr(algorithms, name)
    for name in ("HMAC_SHA256", "ED25519", "ECDSA_P256_SHA256", "ECDSA_P384_SHA384", "RSA_PSS_SHA512", "RSA_V1_5_SHA256")
}


class Fields:
    """Field lines in order, of which a name may have several."""

    def __init__(self, lines):
        self.lines = [(name, value) for name, value in lines]

    def items(self):
        return list(self.lines)

    def __iter__(self):
        return iter([name for name, _ in self.lines])

    def __contains__(self, name):
        return any(line[0].lower() == name.lower() for line in self.lines)

    def __setitem__(self, name, value):
        self.lines.append((name, value))

    def __delitem__(self, name):
        self.lines = [line for line in self.lines if line[0].lower() != name.lower()]


class Keys(HTTPSignatureKeyResolver):
    def __init__(self, task):
        self.task = task

    def resolve(self, text):
        isShared = self.task["algorithm"] == "hmac-sha256"
        return base64.b64decode(text) if isShared else text.encode()

    def resolve_public_key(self, key_id):
        return self.resolve(self.task["publicKey"])

    def resolve_private_key(self, key_id):
        return self.resolve(self.task["privateKey"])


def perform(task):
    request = SimpleNamespace(method=task["method"], url=task["url"], headers=Fields(task["fields"]))
    algorithm = ALGORITHMS[task["algorithm"]]
    content = base64.b64decode(task["content"])
    if task["status"] == 0:
        verifier = HTTPMessageVerifier(signature_algorithm=algorithm, key_resolver=Keys(task))
        try:
            results = verifier.verify(
                request, body=content if content else None, require_components=task["components"])
            return "" if len(results) == 1 else "several signatures"
        except Exception as error:
            return repr(error)
    response = SimpleNamespace(status_code=task["status"], headers=Fields([]), request=request)
    signer = HTTPMessageSigner(signature_algorithm=algorithm, key_resolver=Keys(task))
    signer.sign(
        response, key_id="key-1", covered_component_ids=task["components"], include_alg=task["sendsAlgorithm"],
        tag="test", nonce="1", body=content)
    return response.headers.items()


with open("tasks.json", encoding="utf-8") as file:
    print(json.dumps([perform(task) for task in json.load(file)]))

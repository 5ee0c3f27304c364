"""Checks signatures of AWS with botocore and awscrt, or serves S3 and DynamoDB with moto, which checks them
(all from PyPI).

    aws_verifier.py check   reads requests from tasks.json, and prints for each what the libraries make of it, as JSON
    aws_verifier.py serve [TABLE]   serves until it is ended; prints its URL and the keys of a user. It checks
                                 signatures after a POST of 0 to /moto-api/reset-auth
"""
import base64
import datetime
import io
import json
import os
import sys

os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")


def at(text):
    return datetime.datetime.strptime(text, "%Y%m%dT%H%M%SZ")


def request_of(case):
    from botocore.awsrequest import AWSRequest
    return AWSRequest(method=case["method"], url=case["url"], headers=dict(case["headers"]))


def presigned(case):
    """The URL that botocore makes of the same request."""
    from botocore import auth
    from botocore.credentials import Credentials
    auth.get_current_datetime = lambda: at(case["date"])
    kind = auth.S3SigV4QueryAuth if case["service"] == "s3" else auth.SigV4QueryAuth
    signer = kind(Credentials(*case["keys"]), case["service"], case["region"], expires=case["lifetime"])
    request = request_of(case)
    signer.add_auth(request)
    return request.url.rpartition("X-Amz-Signature=")[2]


def chunks(case):
    """The content, if all signatures and checksums in the body are right."""
    from botocore import auth, httpchecksum
    from botocore.credentials import Credentials
    request = request_of(case)
    request.context["timestamp"] = case["date"]
    signer = auth.S3SigV4Auth(Credentials(*case["keys"]), case["service"], case["region"])
    fields = {name.lower(): value for name, value in case["headers"]}
    names = case["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    for name in list(request.headers):
        if name.lower() not in names:
            del request.headers[name]
    seed = case["authorization"].rpartition("Signature=")[2]
    assert signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request) == seed, "head"

    body = base64.b64decode(case["body"])
    word = fields["x-amz-content-sha256"]
    trailer = fields.get("x-amz-trailer")
    hashes = {"x-amz-checksum-crc32": httpchecksum.Crc32Checksum, "x-amz-checksum-sha256": httpchecksum.Sha256Checksum,
              "x-amz-checksum-crc32c": getattr(httpchecksum, "CrtCrc32cChecksum", None)}
    content = base64.b64decode(case["content"])
    if word == "STREAMING-UNSIGNED-PAYLOAD-TRAILER":
        wrapper = httpchecksum.AwsChunkedWrapper(
            io.BytesIO(content), checksum_cls=hashes[trailer], checksum_name=trailer, chunk_size=65536)
        assert wrapper.read() == body, "coding"
        return "right"

    from hashlib import sha256
    scope = case["authorization"].partition("Credential=")[2].partition(",")[0].partition("/")[2]
    start, rest, found, previous = f"{case['date']}\n{scope}\n", body, b"", seed
    while True:
        line, _, rest = rest.partition(b"\r\n")
        size, _, signature = line.decode().partition(";chunk-signature=")
        chunk, rest = rest[:int(size, 16)], rest[int(size, 16):]
        text = (f"AWS4-HMAC-SHA256-PAYLOAD\n{start}{previous}\n{sha256(b'').hexdigest()}\n{sha256(chunk).hexdigest()}")
        assert signer.signature(text, request) == signature, "chunk"
        previous = signature
        if not chunk:
            break
        assert rest[:2] == b"\r\n"
        found, rest = found + chunk, rest[2:]
    assert found == content, "content"
    if trailer:
        checksum = hashes[trailer]()
        checksum.update(content)
        line = f"{trailer}:{checksum.b64digest()}"
        text = f"AWS4-HMAC-SHA256-TRAILER\n{start}{previous}\n{sha256((line + chr(10)).encode()).hexdigest()}"
        expected = f"{line}\r\nx-amz-trailer-signature:{signer.signature(text, request)}\r\n\r\n".encode()
    else:
        expected = b"\r\n"
    assert rest == expected, "end"
    assert str(len(content)) == fields["x-amz-decoded-content-length"]
    return "right"


def asymmetric(case):
    """The value of Authorization that awscrt makes of the same request by Signature Version 4A."""
    from urllib.parse import urlsplit
    from awscrt import auth, http
    url = urlsplit(case["url"])
    is_s3 = case["service"] == "s3"
    headers = http.HttpHeaders([("host", url.netloc)] + [(name, value) for name, value in case["headers"]])
    request = http.HttpRequest(case["method"], url.path + (f"?{url.query}" if url.query else ""), headers)
    config = auth.AwsSigningConfig(
        algorithm=auth.AwsSigningAlgorithm.V4_ASYMMETRIC, signature_type=auth.AwsSignatureType.HTTP_REQUEST_HEADERS,
        credentials_provider=auth.AwsCredentialsProvider.new_static(*case["keys"]), region=case["region"],
        service=case["service"], date=at(case["date"]).replace(tzinfo=datetime.timezone.utc),
        use_double_uri_encode=not is_s3, should_normalize_uri_path=not is_s3, signed_body_value=case["hash"],
        signed_body_header_type=auth.AwsSignedBodyHeaderType.X_AMZ_CONTENT_SHA_256 if is_s3
        else auth.AwsSignedBodyHeaderType.NONE)
    return dict(auth.aws_sign_request(request, config).result(10).headers)["Authorization"]


def check():
    kinds = {"presigned": presigned, "chunks": chunks, "asymmetric": asymmetric}
    answers = []
    for case in json.load(open("tasks.json")):
        try:
            answers.append(kinds[case["kind"]](case))
        except Exception as error:
            answers.append(f"{type(error).__name__}: {error}")
    print(json.dumps(answers))


def serve():
    import threading
    import boto3
    from moto.server import DomainDispatcherApplication, ThreadedMotoServer
    answer, lock = DomainDispatcherApplication.__call__, threading.Lock()

    def answer_alone(*arguments):
        # moto checks a condition and writes in two steps, between which another request would come.
        with lock:
            return answer(*arguments)
    if sys.argv[2:]:
        DomainDispatcherApplication.__call__ = answer_alone
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    port = server.get_host_and_port()[1]
    given = dict(endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1", aws_access_key_id="a",
                 aws_secret_access_key="b")
    iam = boto3.client("iam", **given)
    iam.create_user(UserName="user")
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    iam.put_user_policy(UserName="user", PolicyName="all", PolicyDocument=json.dumps(policy))
    key = iam.create_access_key(UserName="user")["AccessKey"]
    boto3.client("s3", **given).create_bucket(Bucket="bucket")
    for table in sys.argv[2:]:
        boto3.client("dynamodb", **given).create_table(
            TableName=table, KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}], BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}])
    trust = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:*", "Principal": "*"}]}
    iam.create_role(RoleName="role", AssumeRolePolicyDocument=json.dumps(trust))
    iam.put_role_policy(RoleName="role", PolicyName="all", PolicyDocument=json.dumps(policy))
    print(json.dumps([f"http://127.0.0.1:{port}", key["AccessKeyId"], key["SecretAccessKey"]]), flush=True)
    threading.Event().wait()


if sys.argv[1] == "check":
    check()
else:
    serve()

/// The certificate of a server, which the machine's `openssl` creates and which is valid for two days.
package struct TestCertificate: Sendable {
    /// The names that the certificate is for, in openssl's notation.
    package var names = "IP:127.0.0.1,DNS:localhost"
    /// Whether it expired in 2020.
    package var isExpired = false

    package init() {}

    /// Creates `root.pem`, and `server.pem` with its key, which the root signs.
    var script: String {
        """
        openssl=${DECORUM_OPENSSL:-openssl}
        make_root() {
            $openssl req -config openssl.conf -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
                -subj "/CN=$1" -extensions root -keyout $1-key.pem -out $1.pem
        }
        sign() {
            $openssl req -config openssl.conf -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
                -subj "/CN=decorum $1" -keyout $1-key.pem -out $1-request.pem
            $openssl ca -config openssl.conf -batch -notext -extensions $1 -in $1-request.pem -out $1.pem $2
        }
        : >database
        echo 01 >serial
        make_root root 2>>openssl.log
        sign server "\(isExpired ? "-startdate 200101000000Z -enddate 200201000000Z" : "-days 2")" 2>>openssl.log

        """
    }

    /// Also creates `client.pem` with its key, which the root signs, and `client.p12` with both; `stranger.pem`, a root that signs nothing; `roots`, a
    /// folder with the root; and `pin`, the digest of the server's public key.
    var furtherScript: String {
        """
        make_root stranger 2>>openssl.log
        sign client "-days 2" 2>>openssl.log
        $openssl pkcs12 -export -in client.pem -inkey client-key.pem -passout pass:p12-s3cret -out client.p12
        mkdir roots
        cp root.pem roots/$($openssl x509 -in root.pem -noout -hash).0
        $openssl x509 -in server.pem -noout -pubkey | $openssl pkey -pubin -outform der \
            | $openssl dgst -sha256 -binary >pin

        """
    }

    /// The configuration of openssl, used in place of the machine's.
    var configuration: String {
        """
        [ca]
        default_ca = own
        [own]
        database = database
        serial = serial
        new_certs_dir = .
        certificate = root.pem
        private_key = root-key.pem
        default_md = sha256
        unique_subject = no
        policy = any
        [any]
        commonName = supplied
        [req]
        distinguished_name = name
        prompt = no
        [name]
        commonName = decorum
        [root]
        basicConstraints = critical,CA:TRUE
        keyUsage = critical,keyCertSign
        subjectKeyIdentifier = hash
        [server]
        basicConstraints = CA:FALSE
        subjectAltName = \(names)
        extendedKeyUsage = serverAuth
        authorityKeyIdentifier = keyid
        [client]
        basicConstraints = CA:FALSE
        extendedKeyUsage = clientAuth
        authorityKeyIdentifier = keyid

        """
    }
}

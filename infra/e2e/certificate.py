"""An authority that nobody trusts who has not been given its file, and a certificate of it."""

from datetime import datetime, timedelta, timezone

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def certify(host, folder):
    """Writes `ca.pem`, and `server.pem` with `server.key` for the host."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_name = name_of("outbox e2e")
    ca = certificate(ca_name, ca_name, ca_key.public_key())
    ca = ca.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    server = certificate(name_of(host), ca_name, key.public_key())
    server = server.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
    write(folder / "ca.pem", ca.sign(ca_key, hashes.SHA256()))
    write(folder / "server.pem", server.sign(ca_key, hashes.SHA256()))
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / "server.key").touch(mode=0o600)
    (folder / "server.key").write_bytes(secret)


def certificate(subject, issuer, key):
    now = datetime.now(timezone.utc)
    builder = x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number())
    return builder.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=1))


def name_of(text):
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def write(path, certificate):
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

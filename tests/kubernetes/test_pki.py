import ssl
import subprocess
import sys
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from minikube.kubernetes import pki

SERVER = pki.LeafRequest("server", server=True, names=("localhost",), addresses=("127.0.0.1", "::1"))


@pytest.fixture(scope="module")
def authority():
    return pki.new_authority("testCA")


def test_a_leaf_fits_what_it_was_made_for(authority):
    issued = pki.issue(authority, SERVER)
    assert pki.fits(issued, authority, SERVER)
    assert pki.fits(issued, authority, SERVER._replace(addresses=("127.0.0.1",)))


@pytest.mark.parametrize(
    "other",
    [
        SERVER._replace(common_name="else"),
        SERVER._replace(organization="system:masters"),
        SERVER._replace(addresses=("10.0.0.1",)),
        SERVER._replace(names=("localhost", "new.example")),
        SERVER._replace(client=True),
    ],
)
def test_a_leaf_that_no_longer_says_the_truth_does_not_fit(authority, other):
    assert not pki.fits(pki.issue(authority, SERVER), authority, other)


def test_neither_another_authority_nor_another_key_fits(authority):
    issued = pki.issue(authority, SERVER)
    assert not pki.fits(issued, pki.new_authority("testCA"), SERVER)
    assert not pki.fits(issued._replace(key=pki.issue(authority, SERVER).key), authority, SERVER)
    assert not pki.fits(pki.Issued(b"", b""), authority, SERVER)
    assert not pki.fits(issued._replace(certificate=issued.certificate[:80]), authority, SERVER)


def test_soon_to_expire_does_not_fit(authority):
    assert not pki.fits(pki.issue(authority, SERVER._replace(lifetime=timedelta(days=29))), authority, SERVER)


def test_openssl_agrees(authority, tmp_path):
    """A real TLS handshake, as strict as Python can be."""
    pki.write_pair(tmp_path / "s.crt", tmp_path / "s.key", pki.issue(authority, SERVER))
    pki.write_pair(tmp_path / "ca.crt", tmp_path / "ca.key", pki.authority_pem(authority))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "s.crt", tmp_path / "s.key")
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    client.load_verify_locations(tmp_path / "ca.crt")
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(to_client, to_server, server_hostname="127.0.0.1"), server.wrap_bio(to_server, to_client, server_side=True)]
    pending = list(ends)
    for _ in range(10):
        for end in list(pending):
            try:
                end.do_handshake()
                pending.remove(end)
            except ssl.SSLWantReadError:
                pass
    assert not pending


def test_an_authority_of_upstream_is_used(authority):
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "minikubeCA")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(authority.certificate.not_valid_before_utc)
        .not_valid_after(authority.certificate.not_valid_after_utc)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = pki.Issued(certificate.public_bytes(serialization.Encoding.PEM), pki.key_pem(key))
    theirs = pki.load_authority(pem)
    assert pki.fits(pki.issue(theirs, SERVER), theirs, SERVER)
    assert pki.authority_pem(theirs) == pem


def test_a_pair_that_is_too_long_does_not_fit(authority):
    """What a node keeps may be anything: no more of it is read than a pair can need."""
    issued, tokens, padding = pki.issue(authority, SERVER), pki.new_signing_key(), b"\n" * (64 << 10)
    assert not pki.fits(issued._replace(key=issued.key + padding[: 8 << 10]), authority, SERVER)
    assert not pki.fits(issued._replace(certificate=issued.certificate + padding), authority, SERVER)
    assert not pki.signing_key_works(tokens._replace(key=tokens.key + padding[: 8 << 10]))
    assert not pki.signing_key_works(tokens._replace(certificate=tokens.certificate + padding[: 8 << 10]))
    etcd = pki.authority_pem(authority)
    for long in (etcd._replace(key=etcd.key + padding), etcd._replace(certificate=etcd.certificate + padding)):
        with pytest.raises(ValueError, match="bytes are too many"):
            pki.load_authority(long)


def test_an_api_server_with_hundreds_of_names_keeps_its_certificate(authority):
    many = SERVER._replace(names=tuple(f"api-{number}.cluster.example" for number in range(500)))
    assert pki.fits(pki.issue(authority, many), authority, many)


LARGE_KEYS = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (8, 8))
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives import hashes, serialization
from cryptography import x509
from minikube.kubernetes import pki

p, q, e = 2**4423 - 1, 2**4253 - 1, 65537
d = pow(e, -1, (p - 1) * (q - 1))
numbers = rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), rsa.RSAPublicNumbers(e, p * q))
key = numbers.private_key(unsafe_skip_rsa_key_validation=True)
authority, request = pki.new_authority("testCA"), pki.LeafRequest("client", client=True)
like = x509.load_pem_x509_certificate(pki.issue(authority, request).certificate)
builder = x509.CertificateBuilder(like.issuer, like.subject, key.public_key(), 1, like.not_valid_before_utc, like.not_valid_after_utc)
certificate = builder.sign(authority.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
pair = pki.Issued(certificate, pki.key_pem(key))
public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
pki.fits(pair, authority, request)
pki.signing_key_works(pki.Issued(public, pair.key))
try:
    pki.load_authority(pair, of_node=True)
except ValueError as error:
    print(error)
"""


def test_large_rsa_keys_of_a_node_take_no_time():
    """Each is of two primes: to make sure of that takes OpenSSL more CPU time than the process may use."""
    result = subprocess.run([sys.executable, "-c", LARGE_KEYS], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "the key is not one that was made for it\n"), result.stderr


def test_keys_are_private(authority, tmp_path):
    pki.write_pair(tmp_path / "a.crt", tmp_path / "a.key", pki.issue(authority, SERVER))
    assert (tmp_path / "a.key").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.crt", "a.key"]


def test_what_expires_soon(authority, tmp_path):
    (tmp_path / "etcd").mkdir()
    pki.write_pair(tmp_path / "a.crt", tmp_path / "a.key", pki.issue(authority, SERVER))
    pki.write_pair(tmp_path / "etcd/b.crt", tmp_path / "etcd/b.key", pki.issue(authority, SERVER._replace(lifetime=timedelta(days=3))))
    pki.write_pair(tmp_path / "c.crt", tmp_path / "c.key", pki.issue(authority, SERVER._replace(lifetime=timedelta(days=2))))
    (tmp_path / "junk.crt").write_text("junk")
    assert [one.path.name for one in pki.expiring([tmp_path])] == ["c.crt", "b.crt"]


def test_service_account_keys():
    pair = pki.new_signing_key()
    assert pki.signing_key_works(pair)
    assert not pki.signing_key_works(pair._replace(key=pki.new_signing_key().key))

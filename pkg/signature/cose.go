package signature

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"math/big"
)

// Algorithms of COSE keys (RFC 9053, RFC 8812) that passkeys may have here.
const (
	ES256 int64 = -7
	EdDSA int64 = -8
	RS256 int64 = -257
)

// leastRSA is the shortest RSA key that counts, in bits.
const leastRSA = 2048

// coseKey is a public key that can check.
type coseKey struct {
	ec  *ecdsa.PublicKey
	ed  ed25519.PublicKey
	rsa *rsa.PublicKey
}

// CheckKey describes why a COSE key cannot be used; nil for one that can.
func CheckKey(cose []byte) error {
	_, err := readKey(cose)
	return err
}

func readKey(cose []byte) (*coseKey, error) {
	v, rest, err := readCBOR(cose, 0)
	m, isMap := v.(map[any]any)
	if err != nil || !isMap || len(rest) > 0 {
		return nil, mismatch(PartKey, "the public key of the credential is no COSE key")
	}
	kty, _ := m[int64(1)].(int64)
	alg, _ := m[int64(3)].(int64)
	curve, _ := m[int64(-1)].(int64)
	x, _ := m[int64(-2)].([]byte)
	switch {
	case kty == 2 && alg == ES256 && curve == 1:
		y, _ := m[int64(-3)].([]byte)
		if len(x) != 32 || len(y) != 32 {
			break
		}
		key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
		if err != nil {
			break
		}
		return &coseKey{ec: key}, nil
	case kty == 1 && alg == EdDSA && curve == 6 && len(x) == ed25519.PublicKeySize:
		return &coseKey{ed: ed25519.PublicKey(x)}, nil
	case kty == 3 && alg == RS256:
		n, _ := m[int64(-1)].([]byte)
		if key := rsaKey(n, x); key != nil {
			return &coseKey{rsa: key}, nil
		}
	}
	return nil, mismatch(PartKey, "the public key of the credential has the algorithm %d; use a key of ES256 (-7), EdDSA (-8) or RS256 (-257)", alg)
}

// rsaKey returns a key that is long enough, or nil.
func rsaKey(n, e []byte) *rsa.PublicKey {
	exponent := new(big.Int).SetBytes(e)
	key := &rsa.PublicKey{N: new(big.Int).SetBytes(n)}
	if key.N.BitLen() < leastRSA || key.N.BitLen() > 8*leastRSA || !exponent.IsInt64() || exponent.Int64() < 3 || exponent.Int64() > 1<<31-1 {
		return nil
	}
	key.E = int(exponent.Int64())
	return key
}

// verifies reports that a signature is one of a message.
func (k *coseKey) verifies(message, signature []byte) bool {
	sum := sha256.Sum256(message)
	switch {
	case k.ec != nil:
		return ecdsa.VerifyASN1(k.ec, sum[:], signature)
	case k.ed != nil:
		return len(signature) == ed25519.SignatureSize && ed25519.Verify(k.ed, message, signature)
	case k.rsa != nil:
		return rsa.VerifyPKCS1v15(k.rsa, crypto.SHA256, sum[:], signature) == nil
	default:
		return false
	}
}

package receipt

import (
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
)

// Signer signs for a deployment: a key in a file, or one that a key service keeps and never
// gives out.
type Signer interface {
	// Public is the key by which signatures are checked.
	Public() ed25519.PublicKey
	// Sign signs a message with Ed25519, without hashing it before.
	Sign(message []byte) ([]byte, error)
}

// fileKey is a key that is at hand.
type fileKey struct{ crypto.Signer }

func (k fileKey) Public() ed25519.PublicKey { return k.Signer.Public().(ed25519.PublicKey) }

func (k fileKey) Sign(message []byte) ([]byte, error) {
	return k.Signer.Sign(nil, message, crypto.Hash(0))
}

// NewKey makes a key from a source of randomness, as the PEM of its private and its public
// part.
func NewKey(random io.Reader) (private, public []byte, err error) {
	pub, priv, err := ed25519.GenerateKey(random)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(priv)
	if err != nil {
		return nil, nil, err
	}
	public, err = PublicPEM(pub)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), public, err
}

// PublicPEM returns a public key as a file has it.
func PublicPEM(key ed25519.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// ReadSigner reads the PEM of a private key (PKCS #8, Ed25519).
func ReadSigner(text []byte) (Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errors.New("it is no private key in PEM: make one with interlock receipt keygen")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("it is no private key: %w", err)
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("it is no Ed25519 key: make one with interlock receipt keygen")
	}
	return fileKey{private}, nil
}

// ReadPublic reads the PEM of a public key (Ed25519).
func ReadPublic(text []byte) (ed25519.PublicKey, error) {
	block, _ := pem.Decode(text)
	switch {
	case block != nil && block.Type == "PRIVATE KEY":
		return nil, errors.New("it is a private key, and no public key: keep it secret, and name the file next to it that ends in .pub")
	case block == nil || block.Type != "PUBLIC KEY":
		return nil, errors.New("it is no public key in PEM: `interlock receipt keygen` writes one next to the private key, as FILE.pub")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("it is no public key: %w", err)
	}
	public, ok := key.(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("it is no Ed25519 key")
	}
	return public, nil
}

// KeyID names a key in an envelope: it says which key to try, and is not proof.
func KeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:])
}

// PreAuth returns the input of a DSSE signature.
func PreAuth(payloadType string, payload []byte) []byte {
	return append(fmt.Appendf(nil, "DSSEv1 %d %s %d ", len(payloadType), payloadType, len(payload)), payload...)
}

// Package breakglass has the grants by which clients make calls while they cannot reach Interlock, and the spools in
// which they write these calls down (S23.48). Hooks start it before every tool call, so it imports no net.
package breakglass

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds of grants.
const (
	// Longest is how long a grant lasts at most.
	Longest = 24 * time.Hour
	// MostNames bounds its tools, and its commands.
	MostNames = 32
	// MaxName bounds each of its texts, in bytes.
	MaxName   = 1024
	maxGrant  = 16 << 10
	clockSkew = 60 * time.Second
)

// Members of every grant.
const (
	algorithm = "EdDSA"
	tokenType = "interlock-breakglass+jwt"
	issuer    = "interlock"
)

// Grant lets a principal call a few tools while it cannot reach Interlock. The JSON form is its claims.
type Grant struct {
	ID        string   `json:"jti"`
	Issuer    string   `json:"iss"`
	Namespace string   `json:"aud"`
	Principal string   `json:"sub"`
	Tools     []string `json:"tools"`
	// Commands are the whole command lines that pass; nil for any input.
	Commands []string `json:"commands,omitempty"`
	// IssuedAt and Expires are in seconds since 1970.
	IssuedAt    int64  `json:"iat"`
	Expires     int64  `json:"exp"`
	Reason      string `json:"reason"`
	By          string `json:"by"`
	ConfirmedBy string `json:"confirmed_by,omitempty"`
}

// header is that of a token.
type header struct {
	Algorithm string `json:"alg"`
	Type      string `json:"typ"`
	Key       string `json:"kid"`
}

// Signer signs for a deployment: receipt.Signer.
type Signer interface {
	Public() ed25519.PublicKey
	Sign(message []byte) ([]byte, error)
}

// KeyID names a key in a token.
func KeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:])
}

// Valid returns an error for a grant that no client would take.
func (g *Grant) Valid() error {
	switch {
	case g.ID == "" || g.Namespace == "" || g.Principal == "" || g.Reason == "" || g.By == "":
		return errors.New("an id, a namespace, a principal, a reason and who made it are required")
	case len(g.Tools) == 0 || len(g.Tools) > MostNames:
		return fmt.Errorf("name 1 to %d tools, not %d", MostNames, len(g.Tools))
	case g.Commands != nil && len(g.Commands) == 0 || len(g.Commands) > MostNames:
		return fmt.Errorf("name at most %d commands, not %d", MostNames, len(g.Commands))
	case g.Expires <= g.IssuedAt || g.Expires-g.IssuedAt > int64(Longest/time.Second):
		return errors.New("it must end after it begins, and at most 24 hours later")
	}
	for _, tool := range g.Tools {
		if name := strings.TrimSuffix(tool, "*"); name == "" || strings.Contains(name, "*") {
			return fmt.Errorf("the tool %q is not a name: write one in full, or its beginning with one * at the end, as mcp__github__*", tool)
		}
	}
	for _, text := range slices.Concat(g.Tools, g.Commands) {
		if text == "" || len(text) > MaxName || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			return fmt.Errorf("each tool and each command is one line of 1 to %d bytes, not %.40q", MaxName, text)
		}
	}
	return nil
}

// Token signs a grant.
func (g *Grant) Token(key Signer) (string, error) {
	if err := g.Valid(); err != nil {
		return "", err
	}
	head, err := json.Marshal(header{algorithm, tokenType, KeyID(key.Public())})
	if err != nil {
		return "", fmt.Errorf("encode the grant: %w", err)
	}
	claims, err := json.Marshal(g)
	if err != nil {
		return "", fmt.Errorf("encode the grant: %w", err)
	}
	signed := encoding.EncodeToString(head) + "." + encoding.EncodeToString(claims)
	signature, err := key.Sign([]byte(signed))
	if err != nil {
		return "", fmt.Errorf("sign the grant: %w", err)
	}
	token := signed + "." + encoding.EncodeToString(signature)
	if len(token) > maxGrant {
		return "", fmt.Errorf("the grant has %d bytes, the limit is %d: name fewer tools and commands", len(token), maxGrant)
	}
	return token, nil
}

// New returns a grant of this issuer.
func New(g Grant) *Grant {
	g.Issuer = issuer
	return &g
}

var encoding = base64.RawURLEncoding.Strict()

// Read returns the grant of a token that a key has signed, in any namespace and at any time.
func Read(token string, key ed25519.PublicKey) (*Grant, error) {
	token = strings.TrimRight(token, " \t\r\n")
	if len(token) > maxGrant {
		return nil, fmt.Errorf("it has more than %d bytes", maxGrant)
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, errors.New("it is not three parts with dots between them")
	}
	var raw [3][]byte
	for i, part := range parts {
		var err error
		if raw[i], err = encoding.DecodeString(part); err != nil || strings.ContainsAny(part, "\r\n") {
			return nil, errors.New("it is not base64url without padding")
		}
	}
	var head header
	if err := strictly(raw[0], &head, "alg", "typ", "kid"); err != nil {
		return nil, fmt.Errorf("its header: %w", err)
	}
	if head != (header{algorithm, tokenType, KeyID(key)}) {
		return nil, errors.New("its header is of another kind of token, or of another key")
	}
	if len(raw[2]) != ed25519.SignatureSize || !ed25519.Verify(key, []byte(parts[0]+"."+parts[1]), raw[2]) {
		return nil, errors.New("its signature is not by this key")
	}
	g := &Grant{}
	if err := strictly(raw[1], g, "jti", "iss", "aud", "sub", "tools", "commands", "iat", "exp", "reason", "by", "confirmed_by"); err != nil {
		return nil, fmt.Errorf("its claims: %w", err)
	}
	if g.Issuer != issuer {
		return nil, errors.New("it is of another issuer")
	}
	return g, g.Valid()
}

// For returns an error unless the grant is for a principal of a namespace now.
func (g *Grant) For(namespace, principal string, now time.Time) error {
	switch {
	case principal == "":
		return errors.New("it is not known which principal the client is; set INTERLOCK_PRINCIPAL")
	case g.Namespace != namespace:
		return fmt.Errorf("it is for namespace %q, and not for %q", g.Namespace, namespace)
	case g.Principal != principal:
		return fmt.Errorf("it is for principal %q, and not for %q", g.Principal, principal)
	case time.Unix(g.IssuedAt, 0).After(now.Add(clockSkew)):
		return errors.New("it begins later: check the clock of this machine")
	case !now.Before(time.Unix(g.Expires, 0)):
		return fmt.Errorf("it ended at %s", time.Unix(g.Expires, 0).UTC().Format(time.RFC3339))
	}
	return nil
}

// Lets reports whether a call is one that the grant lets pass. The command is that of the call, where the grant names
// commands.
func (g *Grant) Lets(tool string, input []byte) (command string, lets bool) {
	if !slices.ContainsFunc(g.Tools, func(pattern string) bool {
		beginning, open := strings.CutSuffix(pattern, "*")
		return pattern == tool || open && strings.HasPrefix(tool, beginning)
	}) {
		return "", false
	}
	if g.Commands == nil {
		return "", true
	}
	call, err := members(input)
	if err != nil || json.Unmarshal(call["command"], &command) != nil || string(call["command"]) == "null" {
		return "", false
	}
	return command, slices.Contains(g.Commands, command)
}

// prefixOfKeys is the DER of a public key in PKIX before its 32 bytes: that has no other form for Ed25519.
var prefixOfKeys = []byte{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00}

// ReadKey reads the PEM of a public key.
func ReadKey(text []byte) (ed25519.PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PUBLIC KEY" || len(block.Bytes) != len(prefixOfKeys)+ed25519.PublicKeySize || !slices.Equal(block.Bytes[:len(prefixOfKeys)], prefixOfKeys) {
		return nil, errors.New("it is not an Ed25519 public key in PEM, as GET /v1/receipts/key has it")
	}
	return ed25519.PublicKey(block.Bytes[len(prefixOfKeys):]), nil
}

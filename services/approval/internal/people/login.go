package people

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/persontoken"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/people"
	"github.com/interlock-run/interlock/pkg/signature"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// SSHNamespace is that of signatures of log-ins: ssh-keygen -Y sign -n interlock-login.
const SSHNamespace = "interlock-login"

const (
	// challengeLife is how long a challenge counts.
	challengeLife = 2 * time.Minute
	// tokenLife is how long the tokens of a log-in last before they are renewed.
	tokenLife = persontoken.MaxTTL
	// minPassphrase is the fewest characters of a passphrase: who can read the store can try many.
	minPassphrase = 12
)

// Challenge is answered by a log-in. It is in no store: it counts once because its use is kept.
type Challenge struct {
	ID string
	// Text is signed by a key.
	Text    []byte
	Site    Site
	Expires time.Time
}

// Proof is an answer to a challenge: one of a passkey's, an SSH key's, and a passphrase.
type Proof struct {
	Passkey *signature.Assertion
	// SSHKey is the public key, and SSHSignature a signature of it.
	SSHKey, SSHSignature string
	Person, Passphrase   string
}

// NewKey is a key to register: one of a passkey, an SSH key and a passphrase.
type NewKey struct {
	ChallengeID string
	Label       string
	Passkey     *signature.Registration
	SSHKey      string
	Passphrase  string
}

// once names the use of the challenge; empty where there is none.
func (k NewKey) once() string {
	if k.Passkey == nil {
		return ""
	}
	return onceOf(k.ChallengeID)
}

func (k NewKey) kind() people.Kind {
	switch {
	case k.Passkey != nil:
		return people.Passkey
	case k.SSHKey != "":
		return people.SSHKey
	default:
		return people.Passphrase
	}
}

func onceOf(challenge string) string { return "login " + challenge }

// Login is a person who has logged in.
type Login struct {
	Person   string
	Presence auth.Presence
	Tokens   []RoleToken
	// Expires is when the tokens end, and Ends when they can be renewed no more.
	Expires, Ends time.Time
}

// RoleToken is a token of a role.
type RoleToken struct {
	Role  auth.Role
	Token string
}

// errRefused returns the one error of all refused log-ins: it does not show who there is.
func errRefused() error {
	return fault.New(fault.Unauthenticated, "the log-in is refused: this server does not know the key or the passphrase, or the person is gone")
}

func errUsed() error {
	return fault.New(fault.Unauthenticated, "the challenge was used before; begin the log-in again")
}

// Begin returns a challenge.
func (a *App) Begin() (Challenge, error) {
	key, err := a.challengeKey()
	if err != nil {
		return Challenge{}, err
	}
	expires := a.now().Add(challengeLife)
	raw := make([]byte, nonceSize, challengeSize)
	_, _ = rand.Read(raw)                                                 // it never fails
	raw = binary.BigEndian.AppendUint64(raw, uint64(expires.UnixMilli())) //nolint:gosec // after 1970
	raw = append(raw, seal(key, raw)...)
	return Challenge{ID: base64.RawURLEncoding.EncodeToString(raw), Text: textOf(raw), Site: a.cfg.Site(), Expires: expires}, nil
}

// A challenge is a nonce, its end and a seal.
const (
	nonceSize     = 16
	sealedSize    = nonceSize + 8
	challengeSize = sealedSize + sha256.Size
)

func seal(key [32]byte, data []byte) []byte {
	mac := hmac.New(sha256.New, key[:])
	mac.Write(data)
	return mac.Sum(nil)
}

func textOf(raw []byte) []byte {
	sum := sha256.Sum256(append([]byte("interlock challenge "), raw...))
	return sum[:]
}

func (a *App) challengeKey() ([32]byte, error) {
	if a.cfg.Key.IsZero() {
		return [32]byte{}, fault.New(fault.FailedPrecondition, "people cannot log in at this server: start it and the others with --person-key FILE, the same for all")
	}
	key, err := a.cfg.Key.Derive("challenges")
	if err != nil {
		return key, fault.From(err)
	}
	return key, nil
}

// challenge returns the text of a challenge of this server, for a key to sign.
func (a *App) challenge(id string) ([]byte, error) {
	key, err := a.challengeKey()
	if err != nil {
		return nil, err
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(id)
	if err != nil || len(raw) != challengeSize || !hmac.Equal(seal(key, raw[:sealedSize]), raw[sealedSize:]) {
		return nil, fault.New(fault.Unauthenticated, "the challenge is not of this server, or of before it was started; begin the log-in again")
	}
	if end := time.UnixMilli(int64(binary.BigEndian.Uint64(raw[nonceSize:]))); !a.now().Before(end) { //nolint:gosec // sealed
		return nil, fault.New(fault.Unauthenticated, "the challenge has expired; begin the log-in again")
	}
	return textOf(raw), nil
}

// Finish returns the log-in of a proof.
func (a *App) Finish(ctx context.Context, challengeID string, proof Proof) (Login, error) {
	text, err := a.challenge(challengeID)
	if err != nil {
		return Login{}, err
	}
	if proof.Passkey == nil && proof.SSHSignature == "" {
		if err := a.wrong.room(proof.Person, a.now()); err != nil {
			return Login{}, err
		}
	}
	return retry.Do(ctx, "the people", func() (Login, error) {
		book, version, err := a.load(ctx)
		if err != nil {
			return Login{}, err
		}
		p, c, presence, err := a.verify(ctx, book, text, proof)
		if err != nil {
			return Login{}, err
		}
		c.LastUsedAt = a.now()
		replayed, err := a.commit(ctx, book, version, p.Name, nil, onceOf(challengeID))
		if err != nil {
			return Login{}, err
		}
		if replayed {
			return Login{}, errUsed()
		}
		return a.login(p, c, presence, a.now(), Wanted{})
	})
}

// verify returns the person and the key of a proof, and the presence that it shows.
func (a *App) verify(ctx context.Context, book *people.Book, text []byte, proof Proof) (*people.Person, *people.Credential, auth.Presence, error) {
	switch {
	case proof.Passkey != nil:
		return a.verifyPasskey(ctx, book, text, proof.Passkey)
	case proof.SSHSignature != "":
		return a.verifySSH(ctx, book, text, proof)
	default:
		return a.verifyPassphrase(ctx, book, proof)
	}
}

func (a *App) verifyPasskey(ctx context.Context, book *people.Book, text []byte, given *signature.Assertion) (*people.Person, *people.Credential, auth.Presence, error) {
	p, c := book.ByCredential(people.Passkey, people.PasskeyID(given.CredentialID))
	if p == nil {
		return nil, nil, "", errRefused()
	}
	site := a.cfg.Site()
	count, err := signature.VerifyPasskey(given, &signature.Credential{ID: given.CredentialID, Key: c.PublicKey, Count: c.SignCount}, site.RPID, site.Origins, text)
	if err != nil {
		a.suspect(ctx, p, c, err)
		return nil, nil, "", errRefused()
	}
	c.SignCount = count
	return p, c, auth.ByPasskey, nil
}

// suspect leaves a warning of a proof that was false. Operators learn why, and callers do not.
func (a *App) suspect(ctx context.Context, p *people.Person, c *people.Credential, why error) {
	a.cfg.Log.LogAttrs(ctx, slog.LevelWarn, "a log-in was refused", slog.String("person", p.Name), slog.String("key", c.ID), slog.Any("error", why))
}

func (a *App) verifySSH(ctx context.Context, book *people.Book, text []byte, proof Proof) (*people.Person, *people.Credential, auth.Presence, error) {
	key, err := signature.ReadSSHKey(proof.SSHKey)
	if err != nil {
		return nil, nil, "", errRefused()
	}
	p, c := book.ByCredential(people.SSHKey, key.Fingerprint())
	if p == nil || !slices.Equal(key.Blob, c.PublicKey) {
		return nil, nil, "", errRefused()
	}
	touch, err := signature.VerifySSH([]byte(proof.SSHSignature), key, SSHNamespace, text)
	if err == nil && touch.Count != 0 && touch.Count <= c.SignCount {
		err = errors.New("the counter of the security key went back: it may have been copied")
	}
	if err != nil {
		a.suspect(ctx, p, c, err)
		return nil, nil, "", errRefused()
	}
	c.SignCount = max(c.SignCount, touch.Count)
	if touch.Touched {
		return p, c, auth.ByTouch, nil
	}
	return p, c, "", nil
}

func (a *App) verifyPassphrase(ctx context.Context, book *people.Book, proof Proof) (*people.Person, *people.Credential, auth.Presence, error) {
	p := book.People[proof.Person]
	var c *people.Credential
	hash := decoy()
	if p != nil {
		if c = p.Credential(people.PassphraseID); c != nil {
			hash = c.Hash
		}
	}
	same, err := a.sameHash(ctx, hash, proof.Passphrase)
	if err != nil {
		return nil, nil, "", err
	}
	if c == nil || !same {
		a.wrong.count(proof.Person, a.now())
		return nil, nil, "", errRefused()
	}
	return p, c, auth.ByPassphrase, nil
}

// Wanted are the tokens to make of a log-in.
type Wanted struct {
	// Role is the only one to make a token of; empty for each that the person has.
	Role auth.Role
	// TTL is how long they last; 0 for as long as they can.
	TTL time.Duration
	// ReadOnly tokens change nothing.
	ReadOnly bool
}

// login makes the tokens of a person.
func (a *App) login(p *people.Person, c *people.Credential, presence auth.Presence, since time.Time, want Wanted) (Login, error) {
	now := a.now().Truncate(time.Second)
	since = since.Truncate(time.Second)
	if err := persontoken.CheckName(p.Name, a.cfg.Names); err != nil {
		return Login{}, fault.New(fault.PermissionDenied, "%v", err)
	}
	l := Login{Person: p.Name, Presence: presence, Ends: since.Add(persontoken.MaxLogin)}
	l.Expires = now.Add(min(cmp.Or(want.TTL, tokenLife), tokenLife, l.Ends.Sub(now)))
	if !now.Before(l.Expires) {
		return Login{}, fault.New(fault.Unauthenticated, "the log-in has ended; log in again")
	}
	for _, r := range p.Roles {
		if want.Role != "" && r != want.Role {
			continue
		}
		token, err := a.cfg.Key.Mint(persontoken.Claims{
			Person: p.Name, Role: r, Namespaces: p.Scope(), Presence: presence, Groups: p.Groups, Attributes: p.Attributes,
			LoggedIn: since, IssuedAt: now, Expires: l.Expires, Credential: c.ID, ReadOnly: want.ReadOnly,
		})
		if err != nil {
			return Login{}, fault.From(err)
		}
		l.Tokens = append(l.Tokens, RoleToken{r, token})
	}
	if len(l.Tokens) == 0 {
		return Login{}, fault.New(fault.PermissionDenied, "%s does not have the role %q; the roles are %v", p.Name, string(want.Role), p.Roles)
	}
	return l, nil
}

// Renew returns new tokens of a log-in that lasts: as long as the person and the key are there. Those of a read-only token
// are read-only.
func (a *App) Renew(ctx context.Context, caller auth.Principal, want Wanted) (Login, error) {
	if caller.Kind != auth.OfPerson || caller.Human == nil {
		return Login{}, fault.New(fault.FailedPrecondition, "only a person who has logged in can renew their log-in")
	}
	if want.TTL < 0 {
		return Login{}, fault.New(fault.InvalidRequest, "ttl must not be negative")
	}
	book, _, err := a.load(ctx)
	if err != nil {
		return Login{}, err
	}
	p := book.People[caller.Person]
	if p == nil || !p.Has(caller.Title()) {
		return Login{}, errRefused()
	}
	c := p.Credential(caller.Credential)
	if c == nil {
		return Login{}, fault.New(fault.Unauthenticated, "the key that you logged in with was removed; log in again")
	}
	want.ReadOnly = want.ReadOnly || caller.ReadOnly
	return a.login(p, c, caller.Presence, caller.Human.AuthenticatedAt, want)
}

// Invited returns the person whom a code is for, and when it ends. While there is no person, it is for the first one, who
// has no name yet: the code is looked at only when it is used.
func (a *App) Invited(ctx context.Context, code string) (person string, until time.Time, err error) {
	book, _, err := a.load(ctx)
	if err != nil || len(book.People) == 0 {
		return "", time.Time{}, err
	}
	p := book.ByCode(code, a.now())
	if p == nil {
		return "", time.Time{}, errCode()
	}
	return p.Name, p.Invitation.Until, nil
}

func errCode() error {
	return fault.New(fault.Unauthenticated, "the code is not known here, or was used, or has ended; an operator makes another with `interlock person invite NAME`")
}

// firstRoles are those of the first person, whose deployment it is.
var firstRoles = []auth.Role{auth.Operator, auth.Approver, auth.Root}

// Register takes a key for a code, and logs the person in.
func (a *App) Register(ctx context.Context, code, name string, k NewKey) (Login, error) {
	if _, err := a.challengeKey(); err != nil {
		return Login{}, err
	}
	book, _, err := a.load(ctx)
	if err != nil {
		return Login{}, err
	}
	invited := book.ByCode(code, a.now())
	first := len(book.People) == 0
	if invited == nil && !first {
		return Login{}, errCode()
	}
	c, err := a.newKey(ctx, k)
	if err != nil {
		return Login{}, err
	}
	if first {
		if err := persontoken.CheckName(name, a.cfg.Names); err != nil {
			return Login{}, fault.New(fault.NameTaken, "%v", err)
		}
		// Other faults are found before the code is used up.
		if _, err := (&people.Book{}).Create(people.Spec{Name: name, Roles: firstRoles}, a.now()); err != nil {
			return Login{}, err
		}
		if err := a.firstCode(code); err != nil {
			return Login{}, err
		}
	}
	presence := c.Presence
	var key *people.Credential
	p, err := a.change(ctx, auth.Principal{Name: registrar(invited, name)}, k.once(), func(book *people.Book) (Change, error) {
		now := a.now()
		p := book.ByCode(code, now)
		if first && len(book.People) == 0 {
			var err error
			if p, err = book.Create(people.Spec{Name: name, Roles: firstRoles, Namespaces: []string{string(auth.AllNamespaces)}}, now); err != nil {
				return Change{}, err
			}
		}
		if p == nil {
			return Change{}, fault.New(fault.Unauthenticated, "the code was used in the meantime")
		}
		p.Invitation = nil
		if err := book.Add(p, c, now); err != nil {
			return Change{}, err
		}
		key = p.Credential(c.ID)
		key.LastUsedAt = now
		return Change{Type: "key_added", Person: p, Key: key}, nil
	})
	if err != nil {
		return Login{}, err
	}
	return a.login(p, key, presence, a.now(), Wanted{})
}

func registrar(invited *people.Person, name string) string {
	if invited != nil {
		return invited.Name
	}
	return name
}

func (a *App) firstCode(code string) error {
	if a.cfg.Code == nil {
		return fault.New(fault.Unauthenticated, "this server has no code for a first person: an operator adds people with `interlock person add`")
	}
	if err := a.cfg.Code.Use(code, a.now()); err != nil {
		return fault.New(fault.Unauthenticated, "%v", err)
	}
	return nil
}

// newKey makes the key that is to be registered, and checks it.
func (a *App) newKey(ctx context.Context, k NewKey) (people.Credential, error) {
	switch {
	case k.Passkey != nil:
		text, err := a.challenge(k.ChallengeID)
		if err != nil {
			return people.Credential{}, err
		}
		site := a.cfg.Site()
		if site.RPID == "" {
			return people.Credential{}, fault.New(fault.FailedPrecondition, "this server does not know the host name that people reach it by, so it has no passkeys; start it with --public-url https://HOST")
		}
		made, err := signature.ReadRegistration(k.Passkey, site.RPID, site.Origins, text)
		if err != nil {
			return people.Credential{}, fault.New(fault.InvalidRequest, "the passkey is refused: %v", err)
		}
		return people.Credential{
			ID: people.PasskeyID(made.ID), Kind: people.Passkey, PublicKey: made.Key, SignCount: made.Count, Presence: auth.ByPasskey, Label: k.Label,
		}, nil
	case k.SSHKey != "":
		key, err := signature.ReadSSHKey(k.SSHKey)
		if err != nil {
			return people.Credential{}, fault.New(fault.InvalidRequest, "the SSH key is refused: %v", err)
		}
		c := people.Credential{ID: key.Fingerprint(), Kind: people.SSHKey, PublicKey: key.Blob, Label: k.Label}
		if key.Touches() {
			c.Presence = auth.ByTouch
		}
		return c, nil
	case k.Passphrase != "":
		if n := len([]rune(k.Passphrase)); n < minPassphrase {
			return people.Credential{}, fault.New(fault.InvalidRequest, "the passphrase has %d characters; use %d or more, such as four words", n, minPassphrase)
		}
		hash, err := a.hash(ctx, k.Passphrase)
		return people.Credential{ID: people.PassphraseID, Kind: people.Passphrase, Hash: hash, Presence: auth.ByPassphrase, Label: k.Label}, err
	default:
		return people.Credential{}, fault.New(fault.InvalidRequest, "give a key: a passkey, an SSH key or a passphrase")
	}
}

// newCode returns a code of 128 bits, as a person can type it.
func newCode() string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // it never fails
	text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(random[:])
	var groups []string
	for part := range slices.Chunk([]byte(text), 5) {
		groups = append(groups, string(part))
	}
	return strings.Join(groups, "-")
}

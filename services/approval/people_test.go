package approval_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/persontoken"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/signature"
	"github.com/interlock-run/interlock/pkg/signature/signaturetest"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/services/approval"
	"github.com/interlock-run/interlock/services/internal/bootstrap"
	"github.com/interlock-run/interlock/services/internal/personread"
)

const (
	origin     = "http://localhost:7420"
	passphrase = "four plain words here"
)

// house is an approval service whose first person registers by a code.
type house struct {
	t      *testing.T
	server *rpc.Server
	login  identityv1.LoginServiceClient
	code   string
	key    persontoken.Key
	chain  auth.Authenticator

	mu  sync.Mutex
	now time.Time
}

// tokens of the file: an operator, a tenant's and an observer.
const peopleTokens = `{"tokens":[{"name":"olga","role":"operator","token":"olga-olga-olga-olga"},
	{"name":"worker","role":"agent","token":"worker-worker-worker"}]}`

// issuer is one of OpenID Connect, whose tokens are "oidc ROLE SUBJECT".
type issuer struct{}

// Authenticate implements auth.Authenticator.
func (issuer) Authenticate(_ context.Context, token string) (auth.Principal, error) {
	words := strings.Fields(token)
	if len(words) != 3 || words[0] != "oidc" {
		return auth.Principal{}, auth.ErrUnauthenticated
	}
	return auth.Principal{
		Name: words[2] + "@example.com", Role: auth.Role(words[1]), Kind: auth.OIDC, Presence: auth.ByIssuer,
		Human: &auth.Human{Name: words[2] + "@example.com", Issuer: "https://id.example.com", Subject: words[2]},
	}, nil
}

func openHouse(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, now: time.Now().Truncate(time.Second), key: persontoken.NewKey()}
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	names, err := auth.ParseTokens([]byte(peopleTokens))
	if err != nil {
		t.Fatal(err)
	}
	h.chain = personread.New(st).Bind(auth.Chain(names, persontoken.New(h.key, names), issuer{}))
	h.server, err = rpc.NewServer(rpc.Config{Listen: []string{"127.0.0.1:0"}, Authenticator: h.chain, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.server.Close)
	code := &bootstrap.Code{}
	h.code = code.Generate(h.now)
	s, err := approval.New(approval.Config{
		Store: st, Clock: h.clock, Logger: slog.New(slog.DiscardHandler), PersonKey: h.key, Names: names, Code: code,
		Address: func() string { return "http://127.0.0.1:7420" },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Register(h.server.GRPC())
	h.server.SetServing(true)
	h.login = identityv1.NewLoginServiceClient(h.server.Local(rpc.ClientConfig{}))
	return h
}

func (h *house) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *house) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func (h *house) people(token string) identityv1.PersonServiceClient {
	return identityv1.NewPersonServiceClient(h.server.Local(rpc.ClientConfig{Token: token}))
}

func (h *house) challenge() *identityv1.BeginLoginResponse {
	h.t.Helper()
	c, err := h.login.BeginLogin(h.t.Context(), &identityv1.BeginLoginRequest{})
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

func (h *house) passkey() *signaturetest.Passkey {
	return signaturetest.NewPasskey(h.t, "localhost", origin, signature.ES256)
}

func (h *house) newPasskey(p *signaturetest.Passkey) *identityv1.NewCredential {
	c := h.challenge()
	made := p.Register(c.GetChallenge())
	return &identityv1.NewCredential{ChallengeId: c.GetChallengeId(), Label: "laptop", Key: &identityv1.NewCredential_Passkey{
		Passkey: &identityv1.PasskeyAttestation{ClientDataJson: made.ClientDataJSON, AttestationObject: made.AttestationObject},
	}}
}

// first registers the first person.
func (h *house) first(name string, p *signaturetest.Passkey) *identityv1.Login {
	h.t.Helper()
	resp, err := h.login.Register(h.t.Context(), &identityv1.RegisterRequest{Code: h.code, Person: name, Credential: h.newPasskey(p)})
	if err != nil {
		h.t.Fatal(err)
	}
	return resp.GetLogin()
}

func (h *house) finish(c *identityv1.BeginLoginResponse, a *signature.Assertion) (*identityv1.Login, error) {
	resp, err := h.login.FinishLogin(h.t.Context(), &identityv1.FinishLoginRequest{ChallengeId: c.GetChallengeId(), Proof: &identityv1.FinishLoginRequest_Passkey{
		Passkey: &identityv1.PasskeyAssertion{
			CredentialId: a.CredentialID, AuthenticatorData: a.AuthenticatorData, ClientDataJson: a.ClientDataJSON, Signature: a.Signature,
		},
	}})
	return resp.GetLogin(), err
}

func (h *house) byPassphrase(person, words string) (*identityv1.Login, error) {
	h.t.Helper()
	resp, err := h.login.FinishLogin(h.t.Context(), &identityv1.FinishLoginRequest{
		ChallengeId: h.challenge().GetChallengeId(),
		Proof:       &identityv1.FinishLoginRequest_Passphrase{Passphrase: &identityv1.PassphraseProof{Person: person, Passphrase: words}},
	})
	return resp.GetLogin(), err
}

func (h *house) bySSH(key *signaturetest.SSH) (*identityv1.Login, error) {
	h.t.Helper()
	c := h.challenge()
	resp, err := h.login.FinishLogin(h.t.Context(), &identityv1.FinishLoginRequest{ChallengeId: c.GetChallengeId(), Proof: &identityv1.FinishLoginRequest_Ssh{
		Ssh: &identityv1.SSHSignature{PublicKey: key.Public(), Signature: string(key.Sign("interlock-login", c.GetChallenge()))},
	}})
	return resp.GetLogin(), err
}

func tokenOf(t *testing.T, l *identityv1.Login, role auth.Role) string {
	t.Helper()
	for _, given := range l.GetTokens() {
		if given.GetRole() == string(role) {
			return given.GetToken()
		}
	}
	t.Fatalf("%s has no token of the role %s", l.GetPerson(), role)
	return ""
}

func want(t *testing.T, name string, err error, reason fault.Reason) {
	t.Helper()
	if err == nil || fault.ReasonOf(err) != reason {
		t.Errorf("%s: %v, want %s", name, err, reason)
	}
}

// The first person registers by the code, once, and is an operator and an approver (S23.13).
func TestTheFirstPerson(t *testing.T) {
	t.Parallel()
	h := openHouse(t)
	key := h.passkey()
	register := func(code, name string) error {
		_, err := h.login.Register(t.Context(), &identityv1.RegisterRequest{Code: code, Person: name, Credential: h.newPasskey(h.passkey())})
		return err
	}
	want(t, "without the code", register("AAAAA", "eve"), fault.Unauthenticated)
	want(t, "the name of a role", register(h.code, "operator"), fault.NameTaken)
	want(t, "the name of an agent", register(h.code, "worker"), fault.NameTaken)
	l := h.first("ann", key)
	if l.GetPerson() != "ann" || l.GetPresence() != "passkey" || len(l.GetTokens()) != 3 {
		t.Errorf("got %v", l)
	}
	want(t, "the code a second time", register(h.code, "eve"), fault.Unauthenticated)
	who, err := h.chain.Authenticate(t.Context(), tokenOf(t, l, auth.Operator))
	if err != nil || who.Person != "ann" || who.Name != "ann" || who.Presence != auth.ByPasskey || who.Kind != auth.OfPerson || who.Namespaces != auth.AllNamespaces ||
		who.Credential == "" || who.Human.Source != auth.Registered {
		t.Errorf("%+v, %v", who, err)
	}
	got, err := h.people(tokenOf(t, l, auth.Approver)).GetPerson(t.Context(), &identityv1.GetPersonRequest{})
	if err != nil || got.GetPerson().GetSpec().GetName() != "ann" || len(got.GetPerson().GetCredentials()) != 1 || !got.GetPerson().GetCredentials()[0].GetPresence() {
		t.Errorf("%v, %v", got, err)
	}
}

// A passkey logs in, and an answer to its challenge counts once, here and for what was asked (S23.11).
func TestLoginByPasskey(t *testing.T) {
	t.Parallel()
	h := openHouse(t)
	key := h.passkey()
	h.first("ann", key)
	c := h.challenge()
	if c.GetRpId() != "localhost" || len(c.GetOrigins()) != 1 || c.GetOrigins()[0] != origin {
		t.Errorf("%v", c)
	}
	proof := key.Sign(c.GetChallenge())
	if l, err := h.finish(c, proof); err != nil || l.GetPerson() != "ann" || l.GetPresence() != "passkey" {
		t.Fatalf("%v, %v", l, err)
	}
	var uniform string
	for name, attack := range map[string]func() error{
		"replayed": func() error { _, err := h.finish(c, proof); return err },
		"other challenge": func() error {
			a := key.Sign(h.challenge().GetChallenge())
			_, err := h.finish(h.challenge(), a)
			return err
		},
		"other origin": func() error {
			evil := *key
			evil.Origin, evil.Count = "http://localhost:9999", 100
			c := h.challenge()
			_, err := h.finish(c, evil.Sign(c.GetChallenge()))
			return err
		},
		"other relying party": func() error {
			evil := *key
			evil.RPID, evil.Count = "evil.example", 100
			c := h.challenge()
			_, err := h.finish(c, evil.Sign(c.GetChallenge()))
			return err
		},
		"unverified user": func() error {
			evil := *key
			evil.Flags, evil.Count = signaturetest.Present, 100
			c := h.challenge()
			_, err := h.finish(c, evil.Sign(c.GetChallenge()))
			return err
		},
		"cloned counter": func() error {
			clone := *key
			clone.Count = 1
			c := h.challenge()
			_, err := h.finish(c, clone.Sign(c.GetChallenge()))
			return err
		},
		"another key": func() error {
			evil := h.passkey()
			evil.ID = key.ID
			c := h.challenge()
			_, err := h.finish(c, evil.Sign(c.GetChallenge()))
			return err
		},
		"unknown key": func() error {
			c := h.challenge()
			_, err := h.finish(c, h.passkey().Sign(c.GetChallenge()))
			return err
		},
	} {
		err := attack()
		want(t, name, err, fault.Unauthenticated)
		if name == "replayed" {
			continue
		}
		if uniform == "" {
			uniform = fault.From(err).Message
		}
		if got := fault.From(err).Message; got != uniform {
			t.Errorf("%s: the error tells what is wrong: %q, not %q", name, got, uniform)
		}
	}
	late := h.challenge()
	h.pass(2 * time.Minute)
	_, err := h.finish(late, key.Sign(late.GetChallenge()))
	want(t, "expired", err, fault.Unauthenticated)
	foreign := openHouse(t).challenge()
	_, err = h.finish(foreign, key.Sign(foreign.GetChallenge()))
	want(t, "another server's challenge", err, fault.Unauthenticated)
	c = h.challenge()
	if _, err := h.finish(c, key.Sign(c.GetChallenge())); err != nil {
		t.Errorf("after the attacks: %v", err)
	}
}

// A passphrase logs in, and guesses are limited, also of who does not exist (S23.14).
func TestLoginByPassphrase(t *testing.T) {
	t.Parallel()
	h := openHouse(t)
	register := func(words string) error {
		_, err := h.login.Register(t.Context(), &identityv1.RegisterRequest{Code: h.code, Person: "ann", Credential: &identityv1.NewCredential{
			Key: &identityv1.NewCredential_Passphrase{Passphrase: words},
		}})
		return err
	}
	want(t, "a short passphrase", register("short"), fault.InvalidRequest)
	if err := register(passphrase); err != nil {
		t.Fatal(err)
	}
	if l, err := h.byPassphrase("ann", passphrase); err != nil || l.GetPresence() != "passphrase" {
		t.Fatalf("%v, %v", l, err)
	}
	for _, name := range []string{"ann", "nobody"} {
		for range 10 {
			_, err := h.byPassphrase(name, "wrong wrong wrong")
			want(t, name, err, fault.Unauthenticated)
		}
		_, err := h.byPassphrase(name, passphrase)
		want(t, name+" after ten", err, fault.LimitReached)
	}
	h.pass(15 * time.Minute)
	if _, err := h.byPassphrase("ann", passphrase); err != nil {
		t.Errorf("after a while: %v", err)
	}
}

// A key of SSH logs in. Only one of a security key shows presence, and without presence nobody changes
// people or keys (S23.15).
func TestLoginBySSH(t *testing.T) {
	t.Parallel()
	h := openHouse(t)
	asRoot := h.people(tokenOf(t, h.first("ann", h.passkey()), auth.Root))
	olga := h.people("olga-olga-olga-olga")
	plain, touched := signaturetest.NewSSH(t, "ssh-ed25519"), signaturetest.NewSSH(t, "sk-ssh-ed25519@openssh.com")
	if _, err := olga.CreatePerson(t.Context(), &identityv1.CreatePersonRequest{Spec: &identityv1.PersonSpec{Name: "ben", Roles: []string{"operator"}, Namespaces: []string{"*"}}}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []*signaturetest.SSH{plain, touched} {
		if _, err := olga.AddCredential(t.Context(), &identityv1.AddCredentialRequest{Name: "ben", Credential: &identityv1.NewCredential{
			Key: &identityv1.NewCredential_SshPublicKey{SshPublicKey: key.Public()},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := olga.InvitePerson(t.Context(), &identityv1.InvitePersonRequest{Name: "ann"})
	want(t, "an operator who invites the root person anew", err, fault.PermissionDenied)
	_, err = olga.CreatePerson(t.Context(), &identityv1.CreatePersonRequest{Spec: &identityv1.PersonSpec{Name: "eve", Roles: []string{"root"}}})
	want(t, "an operator who makes a root person", err, fault.PermissionDenied)
	_, err = asRoot.AddCredential(t.Context(), &identityv1.AddCredentialRequest{Name: "ann", Credential: &identityv1.NewCredential{
		Key: &identityv1.NewCredential_SshPublicKey{SshPublicKey: plain.Public()},
	}})
	want(t, "one key of two people", err, fault.NameTaken)
	_, err = olga.AddCredential(t.Context(), &identityv1.AddCredentialRequest{Name: "ben", Credential: &identityv1.NewCredential{
		Key: &identityv1.NewCredential_Passphrase{Passphrase: passphrase},
	}})
	want(t, "a passphrase that an operator sets for another", err, fault.PermissionDenied)
	here, err := h.bySSH(touched)
	if err != nil || here.GetPresence() != "touch" {
		t.Fatalf("%v, %v", here, err)
	}
	there, err := h.bySSH(plain)
	if err != nil || there.GetPresence() != "" {
		t.Fatalf("%v, %v", there, err)
	}
	asBen := h.people(tokenOf(t, there, auth.Operator))
	_, err = asBen.AddCredential(t.Context(), &identityv1.AddCredentialRequest{Credential: &identityv1.NewCredential{
		Key: &identityv1.NewCredential_Passphrase{Passphrase: passphrase},
	}})
	want(t, "a key without presence", err, fault.PermissionDenied)
	_, err = asBen.InvitePerson(t.Context(), &identityv1.InvitePersonRequest{Name: "ben"})
	want(t, "an invitation without presence", err, fault.PermissionDenied)
	_, err = asBen.CreatePerson(t.Context(), &identityv1.CreatePersonRequest{Spec: &identityv1.PersonSpec{Name: "eve", Roles: []string{"approver"}}})
	want(t, "a person without presence", err, fault.PermissionDenied)
	if _, err := h.people(tokenOf(t, here, auth.Operator)).InvitePerson(t.Context(), &identityv1.InvitePersonRequest{Name: "ben"}); err != nil {
		t.Errorf("with presence: %v", err)
	}
	c := h.challenge()
	_, err = h.login.FinishLogin(t.Context(), &identityv1.FinishLoginRequest{ChallengeId: c.GetChallengeId(), Proof: &identityv1.FinishLoginRequest_Ssh{
		Ssh: &identityv1.SSHSignature{PublicKey: touched.Public(), Signature: string(touched.Sign("interlock-approval", c.GetChallenge()))},
	}})
	want(t, "a signature for another use", err, fault.Unauthenticated)
}

// Operators change people; an invitation counts once; the last operator stays (S23.10, S23.12).
func TestPeople(t *testing.T) {
	t.Parallel()
	h := openHouse(t)
	l := h.first("ann", h.passkey())
	asAnn := h.people(tokenOf(t, l, auth.Operator))
	asRoot := h.people(tokenOf(t, l, auth.Root))
	ctx := t.Context()
	spec := &identityv1.PersonSpec{Name: "ben", Roles: []string{"approver"}, Identities: []string{"slack:T01/U02"}, Attributes: map[string]string{"site": "berlin"}}
	made, err := asAnn.CreatePerson(ctx, &identityv1.CreatePersonRequest{Spec: spec})
	if err != nil || made.GetPerson().GetSpec().GetNamespaces()[0] != "default" {
		t.Fatalf("%v, %v", made, err)
	}
	for name, bad := range map[string]struct {
		spec   *identityv1.PersonSpec
		reason fault.Reason
	}{
		"the same name in capitals": {&identityv1.PersonSpec{Name: "BEN", Roles: []string{"approver"}}, fault.NameTaken},
		"the same identity":         {&identityv1.PersonSpec{Name: "eve", Roles: []string{"approver"}, Identities: []string{"slack:T01/U02"}}, fault.NameTaken},
		"a name of an agent":        {&identityv1.PersonSpec{Name: "worker", Roles: []string{"approver"}}, fault.NameTaken},
		"a role of an agent":        {&identityv1.PersonSpec{Name: "eve", Roles: []string{"agent"}}, fault.InvalidRequest},
		"a name that looks alike":   {&identityv1.PersonSpec{Name: "b\u0435n", Roles: []string{"approver"}}, fault.InvalidRequest},
	} {
		_, err := asAnn.CreatePerson(ctx, &identityv1.CreatePersonRequest{Spec: bad.spec})
		want(t, name, err, bad.reason)
	}
	invited, err := asAnn.InvitePerson(ctx, &identityv1.InvitePersonRequest{Name: "ben"})
	if err != nil {
		t.Fatal(err)
	}
	enter := func(code string) (*identityv1.Login, error) {
		resp, err := h.login.Register(ctx, &identityv1.RegisterRequest{Code: code, Credential: h.newPasskey(h.passkey())})
		return resp.GetLogin(), err
	}
	ben, err := enter(strings.ToLower(strings.ReplaceAll(invited.GetCode(), "-", " ")))
	if err != nil || ben.GetPerson() != "ben" {
		t.Fatalf("%v, %v", ben, err)
	}
	_, err = enter(invited.GetCode())
	want(t, "an invitation twice", err, fault.Unauthenticated)
	again, err := asAnn.InvitePerson(ctx, &identityv1.InvitePersonRequest{Name: "ben"})
	if err != nil {
		t.Fatal(err)
	}
	h.pass(24 * time.Hour)
	_, err = enter(again.GetCode())
	want(t, "an old invitation", err, fault.Unauthenticated)

	asOlga := h.people("olga-olga-olga-olga")
	_, err = asRoot.DeletePerson(ctx, &identityv1.DeletePersonRequest{Name: "ann"})
	want(t, "the last operator", err, fault.FailedPrecondition)
	_, err = asRoot.UpdatePerson(ctx, &identityv1.UpdatePersonRequest{Spec: &identityv1.PersonSpec{Name: "ann", Roles: []string{"approver"}}})
	want(t, "the last operator's role", err, fault.FailedPrecondition)
	ann, err := asRoot.GetPerson(ctx, &identityv1.GetPersonRequest{Name: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = asRoot.RemoveCredential(ctx, &identityv1.RemoveCredentialRequest{Name: "ann", CredentialId: ann.GetPerson().GetCredentials()[0].GetCredentialId()})
	want(t, "the last operator's key", err, fault.FailedPrecondition)
	_, err = asRoot.UpdatePerson(ctx, &identityv1.UpdatePersonRequest{Spec: spec, ExpectedVersion: made.GetPerson().GetVersion()})
	want(t, "an old version", err, fault.VersionConflict)
	all, err := asOlga.ListPeople(ctx, &identityv1.ListPeopleRequest{PageSize: 1})
	if err != nil || len(all.GetPeople()) != 1 || all.GetPeople()[0].GetSpec().GetName() != "ann" || all.GetNextPageToken() == "" {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := asOlga.DeletePerson(ctx, &identityv1.DeletePersonRequest{Name: "ben"}); err != nil {
		t.Error(err)
	}
}

// A log-in is renewed while its key and its person are there, for eight hours (S23.11).
func TestRenewal(t *testing.T) {
	t.Parallel()
	h := openHouse(t)
	h.first("ann", h.passkey())
	asOlga := h.people("olga-olga-olga-olga")
	invite := func(name string) *identityv1.Login {
		if _, err := asOlga.CreatePerson(t.Context(), &identityv1.CreatePersonRequest{Spec: &identityv1.PersonSpec{Name: name, Roles: []string{"approver", "observer"}}}); err != nil {
			t.Fatal(err)
		}
		code, err := asOlga.InvitePerson(t.Context(), &identityv1.InvitePersonRequest{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := h.login.Register(t.Context(), &identityv1.RegisterRequest{Code: code.GetCode(), Credential: h.newPasskey(h.passkey())})
		if err != nil {
			t.Fatal(err)
		}
		return resp.GetLogin()
	}
	ben, eve := tokenOf(t, invite("ben"), auth.Approver), tokenOf(t, invite("eve"), auth.Approver)
	renew := func(token, role string) (*identityv1.Login, error) {
		resp, err := identityv1.NewLoginServiceClient(h.server.Local(rpc.ClientConfig{Token: token})).RenewLogin(t.Context(), &identityv1.RenewLoginRequest{Role: role})
		return resp.GetLogin(), err
	}
	l, err := renew(ben, "observer")
	if err != nil || len(l.GetTokens()) != 1 || l.GetTokens()[0].GetRole() != "observer" || l.GetPresence() != "passkey" {
		t.Errorf("%v, %v", l, err)
	}
	_, err = renew(ben, "operator")
	want(t, "another's role", err, fault.PermissionDenied)
	reads := ben
	for range 2 { // the second renews the first, without asking for a read-only token (S23.16)
		resp, err := identityv1.NewLoginServiceClient(h.server.Local(rpc.ClientConfig{Token: reads})).RenewLogin(t.Context(), &identityv1.RenewLoginRequest{Role: "observer", ReadOnly: reads == ben})
		if err != nil {
			t.Fatal(err)
		}
		reads = resp.GetLogin().GetTokens()[0].GetToken()
		people := identityv1.NewPersonServiceClient(h.server.Local(rpc.ClientConfig{Token: reads}))
		if _, err := people.GetPerson(t.Context(), &identityv1.GetPersonRequest{}); err != nil {
			t.Errorf("a read-only token reads: %v", err)
		}
		_, err = people.RemoveCredential(t.Context(), &identityv1.RemoveCredentialRequest{Name: "ben", CredentialId: "x"})
		want(t, "a read-only token removes a key", err, fault.Unauthenticated)
	}
	_, err = renew("olga-olga-olga-olga", "")
	want(t, "a token of the file", err, fault.FailedPrecondition)
	person, err := asOlga.GetPerson(t.Context(), &identityv1.GetPersonRequest{Name: "ben"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := asOlga.RemoveCredential(t.Context(), &identityv1.RemoveCredentialRequest{Name: "ben", CredentialId: person.GetPerson().GetCredentials()[0].GetCredentialId()}); err != nil {
		t.Fatal(err)
	}
	_, err = renew(ben, "")
	want(t, "a key that was removed", err, fault.Unauthenticated)
	if _, err := asOlga.DeletePerson(t.Context(), &identityv1.DeletePersonRequest{Name: "eve"}); err != nil {
		t.Fatal(err)
	}
	_, err = renew(eve, "")
	want(t, "a person who was removed", err, fault.Unauthenticated)
}

// Without a key for tokens nobody logs in.
func TestNoLoginWithoutAKey(t *testing.T) {
	t.Parallel()
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	server, err := rpc.NewServer(rpc.Config{Listen: []string{"127.0.0.1:0"}, AllowAnonymous: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	s, err := approval.New(approval.Config{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	s.Register(server.GRPC())
	server.SetServing(true)
	_, err = identityv1.NewLoginServiceClient(server.Local(rpc.ClientConfig{})).BeginLogin(t.Context(), &identityv1.BeginLoginRequest{})
	want(t, "begin", err, fault.FailedPrecondition)
	if any, err := s.HasPeople(context.Background()); any || err != nil {
		t.Error(errors.Join(err, errors.New("people")))
	}
}

func (h *house) approvals(token string) approvalv1.ApprovalServiceClient {
	return approvalv1.NewApprovalServiceClient(h.server.Local(rpc.ClientConfig{Token: token}))
}

// asked makes an approval on terms, as an agent asks for it.
func (h *house) asked(terms *approvalv1.Terms, asker *approvalv1.Asker) string {
	h.t.Helper()
	resp, err := h.approvals("olga-olga-olga-olga").CreateApproval(h.t.Context(), &approvalv1.CreateApprovalRequest{
		Kind: approvalv1.ApprovalKind_APPROVAL_KIND_TOOL_CALL, Subject: []byte(`{"tool":"Bash"}`), Asker: asker, Terms: terms,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return resp.GetApproval().GetApprovalId()
}

func (h *house) approves(token, id string) (*approvalv1.Approval, error) {
	resp, err := h.approvals(token).DecideApproval(h.t.Context(), &approvalv1.DecideApprovalRequest{ApprovalId: id, Approve: true})
	return resp.GetApproval(), err
}

// A person who logs in at an issuer votes as the person, once, and not on what the person has asked for (S24.4).
// A question says at once when too few people could answer it (S24.5).
func TestPeopleOfAnIssuer(t *testing.T) {
	t.Parallel()
	h := openHouse(t)
	operator := tokenOf(t, h.first("olaf", h.passkey()), auth.Operator)
	for _, s := range []*identityv1.PersonSpec{
		{Name: "ann", Roles: []string{"approver"}, Identities: []string{"oidc:https://id.example.com/8f"}},
		{Name: "bob", Roles: []string{"approver"}, Identities: []string{"oidc:https://id.example.com/b0"}},
	} {
		if _, err := h.people(operator).CreatePerson(t.Context(), &identityv1.CreatePersonRequest{Spec: s}); err != nil {
			t.Fatal(err)
		}
	}
	worker := &approvalv1.Asker{Principal: "worker"}
	two := &approvalv1.Terms{Required: 2, DistinctPeople: true}
	id := h.asked(two, worker)
	if a, err := h.approves("oidc approver 8f", id); err != nil || len(a.GetVotes()) != 1 || a.GetVotes()[0].GetBy() != "ann" || !a.GetVotes()[0].GetPerson() ||
		a.GetVotes()[0].GetPrincipal() != "8f@example.com" || a.GetNobodyCanAnswer() != "" {
		t.Errorf("ann votes: %v, %v", a, err)
	}
	_, err := h.approves("oidc approver 8f", id)
	want(t, "ann votes a second time", err, fault.FailedPrecondition)
	_, err = h.approves("oidc approver zz", id)
	want(t, "a person of the issuer who is not registered", err, fault.PermissionDenied)
	_, err = h.approves("oidc operator b0", id)
	want(t, "a role that is not registered", err, fault.Unauthenticated)
	if a, err := h.approves("oidc approver b0", id); err != nil || a.GetStatus() != approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED {
		t.Errorf("bob votes: %v, %v", a, err)
	}
	own := h.asked(&approvalv1.Terms{}, &approvalv1.Asker{Principal: "ann's script", Person: "ann"})
	_, err = h.approves("oidc approver 8f", own)
	want(t, "what ann has asked for herself", err, fault.PermissionDenied)

	four := h.asked(&approvalv1.Terms{Required: 4, DistinctPeople: true}, worker)
	got, err := h.approvals("worker-worker-worker").GetApproval(t.Context(), &approvalv1.GetApprovalRequest{ApprovalId: four})
	if err != nil || !strings.Contains(got.GetApproval().GetNobodyCanAnswer(), "it needs 4 of the registered people (role approver), and there are 3") {
		t.Errorf("%v, %v", got, err)
	}
}

// A code says whom it is for, and is not used up by that (S24.2).
func TestWhomACodeIsFor(t *testing.T) {
	t.Parallel()
	h := openHouse(t)
	whose := func(code string) (string, error) {
		resp, err := h.login.GetInvitation(t.Context(), &identityv1.GetInvitationRequest{Code: code})
		return resp.GetPerson(), err
	}
	if name, err := whose(h.code); err != nil || name != "" {
		t.Errorf("the first person's: %q, %v", name, err)
	}
	operator := tokenOf(t, h.first("olaf", h.passkey()), auth.Operator)
	if _, err := h.people(operator).CreatePerson(t.Context(), &identityv1.CreatePersonRequest{Spec: &identityv1.PersonSpec{Name: "ann", Roles: []string{"approver"}}}); err != nil {
		t.Fatal(err)
	}
	invited, err := h.people(operator).InvitePerson(t.Context(), &identityv1.InvitePersonRequest{Name: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if name, err := whose(invited.GetCode()); err != nil || name != "ann" {
			t.Errorf("ann's: %q, %v", name, err)
		}
	}
	_, err = whose("AAAAA")
	want(t, "a code that is not known", err, fault.Unauthenticated)
	key := h.passkey()
	if _, err := h.login.Register(t.Context(), &identityv1.RegisterRequest{Code: invited.GetCode(), Credential: h.newPasskey(key)}); err != nil {
		t.Fatal(err)
	}
	_, err = whose(invited.GetCode())
	want(t, "a code that was used", err, fault.Unauthenticated)
}

package rest

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
)

func aPerson() *identityv1.Person {
	return &identityv1.Person{
		Spec: &identityv1.PersonSpec{Name: "ann", Roles: []string{"approver"}, Namespaces: []string{"default"}, Identities: []string{"slack:T01/U02"}},
		Credentials: []*identityv1.Credential{{
			CredentialId: "SHA256:a/b", Kind: identityv1.CredentialKind_CREDENTIAL_KIND_SSH_KEY, PublicKey: []byte{255}, Presence: true, Label: "blue", CreatedAt: noon,
		}},
		InvitedUntil: noon, Version: 7, CreatedAt: noon, UpdatedAt: noon,
	}
}

const jsonPerson = `{"name":"ann","roles":["approver"],"namespaces":["default"],"identities":["slack:T01/U02"],` +
	`"keys":[{"key_id":"SHA256:a/b","kind":"ssh_key","presence":true,"label":"blue","public_key":"_w","created_at":"2026-03-04T12:00:00.005Z"}],` +
	`"invited_until":"2026-03-04T12:00:00.005Z","version":7,"created_at":"2026-03-04T12:00:00.005Z","updated_at":"2026-03-04T12:00:00.005Z"}`

// TestPeople: people are kept over REST, each route as one call of the service of people.
func TestPeople(t *testing.T) {
	t.Parallel()
	spec := &identityv1.PersonSpec{Name: "ann", Roles: []string{"approver"}, Identities: []string{"slack:T01/U02"}}
	tag := map[string]string{"ETag": `"7"`}
	checkAnswers(t, []answerCase{
		{
			name: "create", method: "POST", path: "/v1/people", body: `{"name":"ann","roles":["approver"],"identities":["slack:T01/U02"]}`, rpc: "CreatePerson",
			answer: &identityv1.CreatePersonResponse{Person: aPerson()}, want: &identityv1.CreatePersonRequest{Spec: spec}, status: 201, json: jsonPerson,
			header: map[string]string{"ETag": `"7"`, "Location": "/v1/people/ann"},
		},
		{
			name: "list", method: "GET", path: "/v1/people?page_size=2&page_token=al", rpc: "ListPeople",
			answer: &identityv1.ListPeopleResponse{People: []*identityv1.Person{aPerson()}, NextPageToken: "ann"},
			want:   &identityv1.ListPeopleRequest{PageSize: 2, PageToken: "al"}, status: 200, json: `{"people":[` + jsonPerson + `],"next_page_token":"ann"}`,
		},
		{
			name: "get", method: "GET", path: "/v1/people/ann", rpc: "GetPerson", answer: &identityv1.GetPersonResponse{Person: aPerson()},
			want: &identityv1.GetPersonRequest{Name: "ann"}, status: 200, json: jsonPerson, header: tag,
		},
		{
			name: "update", method: "PUT", path: "/v1/people/ann", body: `{"roles":["approver"],"identities":["slack:T01/U02"]}`, rpc: "UpdatePerson",
			headers: []string{"If-Match", `"7"`}, answer: &identityv1.UpdatePersonResponse{Person: aPerson()},
			want: &identityv1.UpdatePersonRequest{Spec: spec, ExpectedVersion: 7}, status: 200, json: jsonPerson, header: tag,
		},
		{
			name: "delete", method: "DELETE", path: "/v1/people/ann", rpc: "DeletePerson", headers: []string{"If-Match", `"7"`},
			want: &identityv1.DeletePersonRequest{Name: "ann", ExpectedVersion: 7}, status: 204,
		},
		{
			name: "invite", method: "POST", path: "/v1/people/ann/invitation", rpc: "InvitePerson",
			answer: &identityv1.InvitePersonResponse{Code: "AB-CD", ExpiresAt: noon, Person: aPerson()},
			want:   &identityv1.InvitePersonRequest{Name: "ann"}, status: 201, json: `{"code":"AB-CD","expires_at":"2026-03-04T12:00:00.005Z","person":"ann"}`,
		},
		{
			name: "add an SSH key", method: "POST", path: "/v1/people/ann/keys", body: `{"label":"blue","ssh_public_key":"ssh-ed25519 A"}`, rpc: "AddCredential",
			answer: &identityv1.AddCredentialResponse{Person: aPerson()}, status: 201, json: jsonPerson,
			want: &identityv1.AddCredentialRequest{Name: "ann", Credential: &identityv1.NewCredential{
				Label: "blue", Key: &identityv1.NewCredential_SshPublicKey{SshPublicKey: "ssh-ed25519 A"},
			}},
		},
		{
			name: "add a passkey", method: "POST", path: "/v1/people/ann/keys", rpc: "AddCredential",
			body:   `{"passkey":{"challenge_id":"c","client_data_json":"e30","attestation_object":"_w"}}`,
			answer: &identityv1.AddCredentialResponse{Person: aPerson()}, status: 201, json: jsonPerson,
			want: &identityv1.AddCredentialRequest{Name: "ann", Credential: &identityv1.NewCredential{
				ChallengeId: "c", Key: &identityv1.NewCredential_Passkey{Passkey: &identityv1.PasskeyAttestation{ClientDataJson: []byte("{}"), AttestationObject: []byte{255}}},
			}},
		},
		{
			name: "remove a key", method: "DELETE", path: "/v1/people/ann/keys/SHA256:a%2Fb", rpc: "RemoveCredential",
			answer: &identityv1.RemoveCredentialResponse{Person: aPerson()},
			want:   &identityv1.RemoveCredentialRequest{Name: "ann", CredentialId: "SHA256:a/b"}, status: 200, json: jsonPerson,
		},
	})
}

// TestLogin: a program logs a person in over REST.
func TestLogin(t *testing.T) {
	t.Parallel()
	login := &identityv1.Login{
		Person: "ann", Tokens: []*identityv1.RoleToken{{Role: "approver", Token: "ilp_x"}}, ExpiresAt: noon, EndsAt: noon, Presence: "touch",
	}
	const shown = `{"person":"ann","tokens":[{"role":"approver","token":"ilp_x"}],"expires_at":"2026-03-04T12:00:00.005Z","ends_at":"2026-03-04T12:00:00.005Z","presence":"touch"}`
	checkAnswers(t, []answerCase{
		{
			name: "challenge", method: "POST", path: "/v1/login", rpc: "BeginLogin", headers: []string{"Authorization", ""},
			answer: &identityv1.BeginLoginResponse{ChallengeId: "c", Challenge: []byte{255, 254}, ExpiresAt: noon, RpId: "localhost", Origins: []string{"http://localhost:1"}},
			want:   &identityv1.BeginLoginRequest{}, status: 200,
			json: `{"challenge_id":"c","challenge":"__4","rp_id":"localhost","origins":["http://localhost:1"],"expires_at":"2026-03-04T12:00:00.005Z"}`,
		},
		{
			name: "by SSH", method: "POST", path: "/v1/login/answer", rpc: "FinishLogin", headers: []string{"Authorization", ""},
			body:   `{"challenge_id":"c","ssh":{"public_key":"ssh-ed25519 A","signature":"S"}}`,
			answer: &identityv1.FinishLoginResponse{Login: login}, status: 200, json: shown,
			want: &identityv1.FinishLoginRequest{ChallengeId: "c", Proof: &identityv1.FinishLoginRequest_Ssh{Ssh: &identityv1.SSHSignature{PublicKey: "ssh-ed25519 A", Signature: "S"}}},
		},
		{
			name: "by passphrase", method: "POST", path: "/v1/login/answer", rpc: "FinishLogin",
			body:   `{"challenge_id":"c","passphrase":{"person":"ann","passphrase":"four plain words here"}}`,
			answer: &identityv1.FinishLoginResponse{Login: login}, status: 200, json: shown,
			want: &identityv1.FinishLoginRequest{ChallengeId: "c", Proof: &identityv1.FinishLoginRequest_Passphrase{
				Passphrase: &identityv1.PassphraseProof{Person: "ann", Passphrase: "four plain words here"},
			}},
		},
		{
			name: "by passkey", method: "POST", path: "/v1/login/answer", rpc: "FinishLogin",
			body:   `{"challenge_id":"c","passkey":{"credential_id":"AQ","authenticator_data":"Ag","client_data_json":"e30","signature":"_w"}}`,
			answer: &identityv1.FinishLoginResponse{Login: login}, status: 200, json: shown,
			want: &identityv1.FinishLoginRequest{ChallengeId: "c", Proof: &identityv1.FinishLoginRequest_Passkey{
				Passkey: &identityv1.PasskeyAssertion{CredentialId: []byte{1}, AuthenticatorData: []byte{2}, ClientDataJson: []byte("{}"), Signature: []byte{255}},
			}},
		},
		{
			name: "whose code", method: "POST", path: "/v1/login/invitation", rpc: "GetInvitation", body: `{"code":"AB-CD"}`,
			answer: &identityv1.GetInvitationResponse{Person: "ann", ExpiresAt: noon}, want: &identityv1.GetInvitationRequest{Code: "AB-CD"}, status: 200,
			json: `{"person":"ann","expires_at":"2026-03-04T12:00:00.005Z"}`,
		},
		{
			name: "register", method: "POST", path: "/v1/login/register", rpc: "Register", body: `{"code":"AB-CD","key":{"ssh_public_key":"ssh-ed25519 A"}}`,
			answer: &identityv1.RegisterResponse{Login: login}, status: 200, json: shown,
			want: &identityv1.RegisterRequest{Code: "AB-CD", Credential: &identityv1.NewCredential{Key: &identityv1.NewCredential_SshPublicKey{SshPublicKey: "ssh-ed25519 A"}}},
		},
		{
			name: "renew", method: "POST", path: "/v1/login/renew", rpc: "RenewLogin", body: `{"role":"approver"}`,
			answer: &identityv1.RenewLoginResponse{Login: login}, want: &identityv1.RenewLoginRequest{Role: "approver"}, status: 200, json: shown,
		},
	})
	h := newHouse(t)
	h.answers["BeginLogin"] = &identityv1.BeginLoginResponse{ExpiresAt: timestamppb.Now()}
	for _, c := range []struct{ path, body, pointer string }{
		{"/v1/login/answer", `{"ssh":{"public_key":"a","signature":"b"}}`, "/challenge_id"},
		{"/v1/login/answer", `{"challenge_id":"c"}`, ""},
		{"/v1/login/answer", `{"challenge_id":"c","ssh":{"public_key":"a","signature":"b"},"passphrase":{"person":"ann","passphrase":"p"}}`, ""},
		{"/v1/login/answer", `{"challenge_id":"c","passkey":{"credential_id":"+","authenticator_data":"","client_data_json":"","signature":""}}`, "/passkey"},
		{"/v1/login/register", `{"key":{"passphrase":"p"}}`, "/code"},
		{"/v1/login/register", `{"code":"c","key":{}}`, "/key"},
		{"/v1/people/ann/keys", `{"passphrase":"p","ssh_public_key":"s"}`, ""},
		{"/v1/people/ann/keys", `{"passkey":{"challenge_id":"c","client_data_json":"+","attestation_object":""}}`, "/passkey"},
		{"/v1/people", `{"name":"ann"}`, "/roles"},
	} {
		if rec := h.do("POST", c.path, c.body); rec.Code != 400 || c.pointer != "" && !strings.Contains(rec.Body.String(), `"pointer":"`+c.pointer+`"`) {
			t.Errorf("%s %s: %d %s", c.path, c.body, rec.Code, rec.Body)
		}
	}
	if len(h.got) != 0 {
		t.Errorf("the services were asked: %v", h.got)
	}
}

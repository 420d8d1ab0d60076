package rest

import (
	"cmp"
	"net/http"
	"net/url"
	"reflect"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// PersonList is one page of people, by name.
type PersonList struct {
	People        []jsonview.RegisteredPerson `json:"people"`
	NextPageToken string                      `json:"next_page_token" doc:"page_token of the next page; empty at the end."`
}

// persons serves the routes of people. The service judges who may do what.
type persons struct {
	people identityv1.PersonServiceClient
}

func (h *persons) routes(add func(route)) {
	const path = "/v1/people/{name}"
	name := inPath("name", "Name of the person, percent-encoded.")
	one := answers[jsonview.RegisteredPerson](http.StatusOK)
	ifMatch := param{name: headerIfMatch, in: "header", about: "ETag of the person: 412 unless they are at this version."}
	add(route{
		method: http.MethodPost, path: "/v1/people", id: "createPerson", summary: "Add a person",
		about: "For operators. 409 when the name or an identity is another person's. The person logs in with a key only: add an SSH key, or invite them.",
		body:  jsonBody, request: reflect.TypeFor[jsonview.PersonSpec](), answers: answers[jsonview.RegisteredPerson](http.StatusCreated), serve: taking(h.create),
	})
	add(route{
		method: http.MethodGet, path: "/v1/people", id: "listPeople", summary: "List people",
		params: []param{pageSizeParam, pageTokenParam}, answers: answers[PersonList](http.StatusOK), serve: h.list,
	})
	add(route{
		method: http.MethodGet, path: path, id: "getPerson", summary: "Get a person",
		params: []param{name, ifNoneMatchParam}, answers: one, serve: h.get,
	})
	add(route{
		method: http.MethodPut, path: path, id: "updatePerson", summary: "Replace the registered part of a person",
		about:  "For operators. Keys stay.",
		params: []param{name, ifMatch}, body: jsonBody, request: reflect.TypeFor[jsonview.PersonSpec](), answers: one, serve: taking(h.update),
	})
	add(route{
		method: http.MethodDelete, path: path, id: "deletePerson", summary: "Remove a person with all keys",
		about:  "For operators. The last operator who can log in stays.",
		params: []param{name, ifMatch}, answers: noContent(), serve: h.delete,
	})
	add(route{
		method: http.MethodPost, path: path + "/invitation", id: "invitePerson", summary: "Make a code by which the person registers a key once",
		about:  "For operators. It replaces the code before, and also helps a person who has lost all keys.",
		params: []param{name}, answers: answers[jsonview.Invitation](http.StatusCreated), serve: h.invite,
	})
	add(route{
		method: http.MethodPost, path: path + "/keys", id: "addKey", summary: "Add a key of a person",
		about:  "A person adds keys of their own. An operator may add an SSH key for another.",
		params: []param{name}, body: jsonBody, request: reflect.TypeFor[jsonview.NewKey](), answers: answers[jsonview.RegisteredPerson](http.StatusCreated), serve: taking(h.addKey),
	})
	add(route{
		method: http.MethodDelete, path: path + "/keys/{key_id}", id: "removeKey", summary: "Remove a key of a person",
		params: []param{name, inPath("key_id", "Id of the key, percent-encoded.")}, answers: one, serve: h.removeKey,
	})
}

func answerPerson[R interface{ GetPerson() *identityv1.Person }](resp R, err error) (*answer, error) {
	if err != nil {
		return nil, err
	}
	return ok(jsonview.PersonOf(resp.GetPerson())).tagged(etag(resp.GetPerson().GetVersion())), nil
}

func (h *persons) create(c *call, in jsonview.PersonSpec) (*answer, error) {
	if err := missing(requirement{"/name", in.Name != ""}, requirement{"/roles", len(in.Roles) > 0}); err != nil {
		return nil, err
	}
	reply, err := answerPerson(h.people.CreatePerson(c.ctx, &identityv1.CreatePersonRequest{Spec: in.Proto()}))
	if err != nil {
		return nil, err
	}
	return reply.at("/v1/people/"+url.PathEscape(in.Name), true), nil
}

func (h *persons) list(c *call) (*answer, error) {
	resp, err := h.people.ListPeople(c.ctx, &identityv1.ListPeopleRequest{PageSize: c.size, PageToken: c.token})
	if err != nil {
		return nil, err
	}
	return ok(PersonList{People: jsonview.Each(resp.GetPeople(), jsonview.PersonOf), NextPageToken: resp.GetNextPageToken()}), nil
}

func (h *persons) get(c *call) (*answer, error) {
	return answerPerson(h.people.GetPerson(c.ctx, &identityv1.GetPersonRequest{Name: c.path("name")}))
}

func (h *persons) update(c *call, in jsonview.PersonSpec) (*answer, error) {
	if in.Name = cmp.Or(in.Name, c.path("name")); in.Name != c.path("name") {
		return nil, badBody(fault.InvalidRequest, inBody("/name", document.CodeConflict, "must be the name in the path, or absent"))
	}
	if err := missing(requirement{"/roles", len(in.Roles) > 0}); err != nil {
		return nil, err
	}
	return answerPerson(h.people.UpdatePerson(c.ctx, &identityv1.UpdatePersonRequest{Spec: in.Proto(), ExpectedVersion: c.match}))
}

func (h *persons) delete(c *call) (*answer, error) {
	return done(h.people.DeletePerson(c.ctx, &identityv1.DeletePersonRequest{Name: c.path("name"), ExpectedVersion: c.match}))
}

func (h *persons) invite(c *call) (*answer, error) {
	resp, err := h.people.InvitePerson(c.ctx, &identityv1.InvitePersonRequest{Name: c.path("name")})
	if err != nil {
		return nil, err
	}
	return &answer{status: http.StatusCreated, body: jsonview.InvitationOf(resp)}, nil
}

func (h *persons) addKey(c *call, in jsonview.NewKey) (*answer, error) {
	key, err := credential("", in)
	if err != nil {
		return nil, err
	}
	reply, err := answerPerson(h.people.AddCredential(c.ctx, &identityv1.AddCredentialRequest{Name: c.path("name"), Credential: key}))
	if err != nil {
		return nil, err
	}
	reply.status = http.StatusCreated
	return reply, nil
}

func (h *persons) removeKey(c *call) (*answer, error) {
	return answerPerson(h.people.RemoveCredential(c.ctx, &identityv1.RemoveCredentialRequest{Name: c.path("name"), CredentialId: c.path("key_id")}))
}

// credential returns the one key that a body has at a pointer.
func credential(pointer string, in jsonview.NewKey) (*identityv1.NewCredential, error) {
	given := 0
	for _, is := range []bool{in.Passkey != nil, in.SSHPublicKey != "", in.Passphrase != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return nil, badBody(fault.InvalidRequest, inBody(pointer, document.CodeRequired, "give one key: passkey, ssh_public_key or passphrase"))
	}
	key, err := in.Proto()
	if err != nil {
		return nil, badBody(fault.InvalidRequest, inBody(pointer+"/passkey", document.CodeType, "the passkey cannot be read: "+err.Error()))
	}
	return key, nil
}

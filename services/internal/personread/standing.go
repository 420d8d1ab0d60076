package personread

import (
	"context"

	"github.com/interlock-run/interlock/pkg/auth"
)

// Standing says whether an operator of an earlier request is one now, by the registers of this deployment.
type Standing struct {
	People *Reader
	// Tokens are those of the tokens files; nil for none.
	Tokens *auth.Tokens
	// Anonymous: callers without credentials are operators.
	Anonymous bool
}

// Counts returns why a principal, as it was known before, is no operator of a namespace now; empty if it is one. Of a caller
// from an issuer who is not registered here, nothing is known: it counts, until it is halted.
func (s Standing) Counts(ctx context.Context, namespace string, was auth.Principal) (why string, err error) {
	switch {
	case was.Person != "" && was.Kind != auth.Static:
		book, err := s.People.People(ctx)
		if err != nil {
			return "", err
		}
		p := book.People[was.Person]
		switch {
		case p == nil:
			return "this person is not registered any more", nil
		case !p.Has(auth.Operator) && !p.Has(auth.Root):
			return "this person has not the role operator any more", nil
		case !p.Has(auth.Root) && !p.Scope().Has(namespace):
			return "this person has no rights in namespace " + namespace + " any more", nil
		}
		return "", nil
	case was.Kind == auth.OIDC:
		return "", nil
	case was.Name == auth.AnonymousName && s.Anonymous, s.Tokens.Operates(was.Name, namespace):
		return "", nil
	default:
		return "no token of that name has the role operator in namespace " + namespace + " any more", nil
	}
}

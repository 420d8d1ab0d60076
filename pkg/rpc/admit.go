package rpc

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/metadata"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// anonymous is who calls without credentials where that is allowed.
var anonymous = auth.Principal{Name: auth.AnonymousName, Role: auth.Operator, Root: true}

// admit returns the caller and the namespace of a call, and refuses calls without a
// right. The context it answers is never nil.
func (s *Server) admit(ctx context.Context, m *method) (context.Context, error) {
	var p auth.Principal
	if !m.open {
		var err error
		if p, err = s.authenticate(ctx); err != nil {
			return ctx, err
		}
		if m == s.unknown {
			return ctx, errUnknownMethod()
		}
		if s.cfg.Standing != nil {
			if err := s.cfg.Standing(ctx, m.name, p); err != nil {
				return ctx, err
			}
		}
		ctx = auth.WithPrincipal(ctx, p) // a refusal names it too
		if !auth.Allowed(m.name, p.Role) {
			return ctx, fault.New(fault.PermissionDenied, "the role %s may not %s; %s",
				p.Role, inWords(m.name), whoMay(m.name))
		}
		if p.ReadOnly && !auth.Reads(m.name) {
			return ctx, errReadOnly(m.name)
		}
	}
	if m.open {
		return ctx, nil // who has no token writes into no tenant's lists
	}
	if err := place(ctx, p, m.name); err != nil {
		return ctx, err
	}
	return s.vouched(ctx), nil
}

// errReadOnly asks for a new proof of presence, as RFC 9470 does.
func errReadOnly(method string) error {
	return fault.New(fault.Unauthenticated, "the token of a log-in at a terminal only reads, and does not %s; show again that you are there: "+
		"run the command at a terminal, or log in with `interlock login --decide`", inWords(method))
}

// listNamespaces is the one method of which a caller of several namespaces need not name one.
const listNamespaces = "/interlock.identity.v1.NamespaceService/ListNamespaces"

// place sets the namespace of a call: the one that it names, or else the caller's own. It refuses a namespace that the
// caller may not call in.
func place(ctx context.Context, p auth.Principal, method string) error {
	given := metadata.ValueFromIncomingContext(ctx, NamespaceKey)
	home := p.HomeNamespace()
	switch {
	case len(given) == 0 && home != "":
		callOf(ctx).namespace = home
		return nil
	case len(given) == 0 && !p.MayCallIn(DefaultNamespace):
		if method == listNamespaces {
			callOf(ctx).namespace = p.Namespaces.List()[0]
			return nil
		}
		return fault.New(fault.PermissionDenied, "name one of this token's namespaces in the metadata %s: %s",
			NamespaceKey, strings.Join(p.Namespaces.List(), ", "))
	case len(given) == 0:
		return nil
	case len(given) > 1 || !ValidNamespace(given[0]):
		return fault.New(fault.InvalidRequest, "the metadata %s must be one name of 1 to 63 "+
			"lower-case letters, digits and hyphens that does not begin with a hyphen", NamespaceKey)
	case p.MayCallIn(given[0]):
		callOf(ctx).namespace = given[0]
		return nil
	case home != "":
		callOf(ctx).namespace = home
		return fault.New(fault.PermissionDenied, "this token is bound to the namespace %s; leave the namespace out, or name that one", home)
	default:
		return fault.New(fault.PermissionDenied, "this token is bound to the namespaces %s; name one of them",
			strings.Join(p.Namespaces.List(), ", "))
	}
}

// vouched adds who vouches for the caller. A witness that is not known, or that may not act in the namespace of the call,
// is ignored: the call is the caller's own word.
func (s *Server) vouched(ctx context.Context) context.Context {
	p, err := bearer(ctx, WitnessKey)
	if err != nil || p.ReadOnly || !p.MayCallIn(Namespace(ctx)) {
		return ctx
	}
	return auth.WithWitness(ctx, p)
}

func (s *Server) authenticate(ctx context.Context) (auth.Principal, error) {
	given := metadata.ValueFromIncomingContext(ctx, authorizationKey)
	if len(given) == 0 {
		if s.cfg.AllowAnonymous {
			return anonymous, nil
		}
		return auth.Principal{}, fault.New(fault.Unauthenticated,
			"no credentials: send the metadata \"authorization: Bearer <token>\"")
	}
	const scheme = "Bearer "
	if len(given) > 1 || len(given[0]) < len(scheme) || !strings.EqualFold(given[0][:len(scheme)], scheme) {
		return auth.Principal{}, fault.New(fault.Unauthenticated,
			"the metadata \"authorization\" must be \"Bearer <token>\", once")
	}
	if s.cfg.Authenticator == nil {
		return auth.Principal{}, Unauthenticated(auth.ErrUnauthenticated)
	}
	p, err := s.cfg.Authenticator.Authenticate(ctx, given[0][len(scheme):])
	if err != nil {
		return auth.Principal{}, Unauthenticated(err)
	}
	return p, nil
}

// Unauthenticated returns an authenticator's error as far as a caller may know it.
func Unauthenticated(err error) error {
	var refusal *auth.Refusal
	switch {
	case errors.As(err, &refusal):
		return fault.New(fault.Unauthenticated, "the token is refused: %s", refusal.Why)
	case errors.Is(err, auth.ErrUnauthenticated):
		return fault.New(fault.Unauthenticated, "the token is not known here")
	default:
		return fault.New(fault.Unavailable, "the credentials cannot be checked now").Wrap(err)
	}
}

// inWords returns the act of a method: "register policies (RegisterPolicy)".
func inWords(method string) string {
	name := method[strings.LastIndexByte(method, '/')+1:]
	var words []byte
	for i := range len(name) {
		if 'A' <= name[i] && name[i] <= 'Z' && i > 0 {
			words = append(words, ' ')
		}
		words = append(words, name[i])
	}
	text := strings.ToLower(string(words))
	switch stem, consonantY := strings.CutSuffix(text, "y"); {
	case strings.HasSuffix(text, "s"), !strings.Contains(text, " "):
	case consonantY && !strings.ContainsRune("aeiou", rune(stem[len(stem)-1])):
		text = stem + "ies"
	default:
		text += "s"
	}
	return text + " (" + name + ")"
}

// whoMay describes which roles may call.
func whoMay(name string) string {
	var roles []string
	for _, role := range auth.Roles() {
		if auth.Allowed(name, role) {
			roles = append(roles, string(role))
		}
	}
	if len(roles) == 0 {
		return "no role may"
	}
	return "it needs the role " + strings.Join(roles, " or ")
}

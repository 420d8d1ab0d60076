package rpc

import (
	"context"
	"errors"
	"slices"
	"strings"

	"google.golang.org/grpc/metadata"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// anonymous is who calls without credentials where that is allowed.
var anonymous = auth.Principal{Name: auth.AnonymousName, Role: auth.Operator}

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
		ctx = auth.WithPrincipal(ctx, p) // a refusal names it too
		if !auth.Allowed(m.name, p.Role) {
			return ctx, fault.New(fault.PermissionDenied, "the role %s may not %s; %s",
				p.Role, inWords(m.name), whoMay(m.name))
		}
		ctx = s.vouched(ctx)
	}
	given := metadata.ValueFromIncomingContext(ctx, NamespaceKey)
	if len(given) == 0 {
		if p.Namespace != "" {
			callOf(ctx).namespace = p.Namespace
		}
		return ctx, nil
	}
	if len(given) > 1 || !ValidNamespace(given[0]) {
		return ctx, fault.New(fault.InvalidRequest, "the metadata %s must be one name of 1 to 63 "+
			"lower-case letters, digits and hyphens that does not begin with a hyphen", NamespaceKey)
	}
	if p.Namespace != "" && given[0] != p.Namespace {
		callOf(ctx).namespace = p.Namespace
		return ctx, fault.New(fault.PermissionDenied, "this token is bound to the namespace %s; leave the namespace out, or name that one", p.Namespace)
	}
	callOf(ctx).namespace = given[0]
	return ctx, nil
}

// vouched adds who vouches for the caller. A witness that is not known, or that may act in
// another namespace only, is ignored: the call is the caller's own word.
func (s *Server) vouched(ctx context.Context) context.Context {
	given := metadata.ValueFromIncomingContext(ctx, WitnessKey)
	if len(given) == 0 || s.cfg.Authenticator == nil {
		return ctx
	}
	const scheme = "Bearer "
	if len(given) > 1 || len(given[0]) < len(scheme) || !strings.EqualFold(given[0][:len(scheme)], scheme) {
		return ctx
	}
	p, err := s.cfg.Authenticator.Authenticate(ctx, given[0][len(scheme):])
	namespace := metadata.ValueFromIncomingContext(ctx, NamespaceKey)
	if err != nil || p.Namespace != "" && !slices.Equal(namespace, []string{p.Namespace}) {
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

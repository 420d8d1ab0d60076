package rpc

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// A principal that is bound to a session acts in no other, and one that is bound to a
// branch in no other branch of it. That is enforced here, for every service: the fields
// of a request must equal those of the token, and empty ones are filled in. Objects that
// a request reaches by the id of a run or an approval are its service's to judge, from
// auth.Principal.

// binding is where the requests of a package of contracts say who acts. In other
// fields, like the session to look at, a session may stand that does not act.
type binding struct {
	session protoreflect.Name
	// run, when it is set in a request, says by itself which session is meant.
	run protoreflect.Name
	// branch is where the session's branch is said.
	branch protoreflect.Name
}

// bindings are all packages that a bound principal may call.
var bindings = map[protoreflect.FullName]binding{
	"interlock.engine.v1": {session: "session_id", run: "run_id", branch: "branch"},
	"interlock.policy.v1": {session: "session_id", run: "run_id", branch: "branch"},
	"interlock.state.v1":  {session: "session"},
	// By ids of approvals and runs alone.
	"interlock.approval.v1": {},
	"interlock.peer.v1":     {},
	// A sidecar of one session asks by it: whom it asks for is said by the call that it leads to.
	"interlock.extauthz.v1": {},
	// It answers with the caller's own namespace.
	"interlock.identity.v1":   {},
	"grpc.health.v1":          {},
	"grpc.reflection.v1":      {},
	"grpc.reflection.v1alpha": {},
}

// bind makes a request that of a bound principal, or refuses it.
func bind(ctx context.Context, request any) error {
	p, _ := auth.FromContext(ctx)
	if _, raw := request.(*Raw); raw || p.Session == "" {
		return nil
	}
	m, ok := request.(proto.Message)
	if !ok {
		return fault.New(fault.Internal, "not a protobuf message")
	}
	message := m.ProtoReflect()
	pkg := message.Descriptor().ParentFile().Package()
	b, known := bindings[pkg]
	if !known {
		return fault.New(fault.PermissionDenied, "a token that is bound to a session cannot call %s", pkg)
	}
	if b == (binding{}) {
		return nil
	}
	return b.apply(p, message)
}

// apply goes down into the messages of the request, such as the calls of a batch.
func (b binding) apply(p auth.Principal, m protoreflect.Message) (err error) {
	fields := m.Descriptor().Fields()
	if text(m, fields.ByName(b.run)) == "" || text(m, fields.ByName(b.session)) != "" {
		err = force(m, fields.ByName(b.session), p.Session, "session")
	}
	if err == nil && p.Branch != "" {
		err = force(m, fields.ByName(b.branch), p.Branch, "branch")
	}
	if err != nil {
		return err
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Message() == nil || fd.IsMap() || fd.Message().ParentFile().Package() != m.Descriptor().ParentFile().Package() {
			return true
		}
		if !fd.IsList() {
			err = b.apply(p, v.Message())
			return err == nil
		}
		for i := 0; i < v.List().Len() && err == nil; i++ {
			err = b.apply(p, v.List().Get(i).Message())
		}
		return err == nil
	})
	return err
}

// text returns a text field's value; empty where there is no such field.
func text(m protoreflect.Message, fd protoreflect.FieldDescriptor) string {
	if fd == nil || fd.Kind() != protoreflect.StringKind || fd.IsList() {
		return ""
	}
	return m.Get(fd).String()
}

// force sets a field that is empty, and refuses another value.
func force(m protoreflect.Message, fd protoreflect.FieldDescriptor, want, what string) error {
	if fd == nil || fd.Kind() != protoreflect.StringKind || fd.IsList() {
		return nil
	}
	switch got := m.Get(fd).String(); got {
	case want:
	case "":
		m.Set(fd, protoreflect.ValueOfString(want))
	default:
		return fault.New(fault.PermissionDenied, "this token is bound to %s %q: leave the %s out, or name that one",
			what, want, what)
	}
	return nil
}

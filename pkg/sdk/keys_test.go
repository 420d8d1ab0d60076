package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/interlock-run/interlock/pkg/fault"
)

// keyed is a connection that keeps the last request, and answers with nothing.
type keyed struct{ last proto.Message }

func (k *keyed) Invoke(_ context.Context, _ string, req, _ any, _ ...grpc.CallOption) error {
	k.last, _ = req.(proto.Message)
	return nil
}

func (k *keyed) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errors.New("no stream")
}

// S6.5: the caller's key of a change is that of the request.
func TestKeysOfTheCaller(t *testing.T) {
	t.Parallel()
	key := IdempotencyKey("mine")
	doc := json.RawMessage(`{}`)
	for name, change := range map[string]func(context.Context, *Client) error{
		"Load":       func(ctx context.Context, c *Client) error { _, err := c.Load(ctx, "w", LoadOptions{}, key); return err },
		"Transition": func(ctx context.Context, c *Client) error { _, _ = c.Transition(ctx, "GO", nil, key); return nil },
		"PauseRun":   func(ctx context.Context, c *Client) error { _, err := c.PauseRun(ctx, "r", "", key); return err },
		"ResumeRun":  func(ctx context.Context, c *Client) error { _, err := c.ResumeRun(ctx, "r", key); return err },
		"CancelRun":  func(ctx context.Context, c *Client) error { _, err := c.CancelRun(ctx, "r", "", key); return err },
		"ForceState": func(ctx context.Context, c *Client) error { _, _ = c.ForceState(ctx, "r", "s", nil, key); return nil },
		"DecideApproval": func(ctx context.Context, c *Client) error {
			_, err := c.DecideApproval(ctx, "a", ApprovalVote{Approve: true}, key)
			return err
		},
		"CreateState": func(ctx context.Context, c *Client) error { _, err := c.CreateState(ctx, "s", doc, key); return err },
		"PatchState":  func(ctx context.Context, c *Client) error { _, err := c.PatchState(ctx, "s", nil, key); return err },
		"UpdateState": func(ctx context.Context, c *Client) error {
			_, err := c.UpdateState(ctx, "s", func(json.RawMessage) (json.RawMessage, error) { return doc, nil }, key)
			return err
		},
		"StopSession": func(ctx context.Context, c *Client) error {
			_, err := c.StopSession(ctx, StopOptions{}, key)
			return err
		},
		"ResumeSession":    func(ctx context.Context, c *Client) error { _, err := c.ResumeSession(ctx, "", "", key); return err },
		"RegisterWorkflow": func(ctx context.Context, c *Client) error { _, err := c.RegisterWorkflow(ctx, doc, key); return err },
		"RegisterProcess":  func(ctx context.Context, c *Client) error { _, err := c.RegisterProcess(ctx, doc, key); return err },
		"RegisterPolicy":   func(ctx context.Context, c *Client) error { _, err := c.RegisterPolicy(ctx, "p", doc, key); return err },
		"RegisterSchema":   func(ctx context.Context, c *Client) error { _, err := c.RegisterSchema(ctx, "s", doc, key); return err },
		"CreateComponent":  func(ctx context.Context, c *Client) error { _, err := c.CreateComponent(ctx, doc, key); return err },
		"StartProcess":     func(ctx context.Context, c *Client) error { _, _, err := c.StartProcess(ctx, "p", 0, key); return err },
		"AnswerQuestion": func(ctx context.Context, c *Client) error {
			_, _, err := c.AnswerQuestion(ctx, "yes", "", key)
			return err
		},
	} {
		conn := &keyed{}
		if err := change(t.Context(), New(conn, Options{Session: "s"})); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		field := conn.last.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name("idempotency_key"))
		if field == nil || conn.last.ProtoReflect().Get(field).String() != "mine" {
			t.Errorf("%s sends %v", name, conn.last)
		}
	}
}

// Which errors the same call can succeed after.
func TestRetriable(t *testing.T) {
	t.Parallel()
	for reason, want := range map[fault.Reason]bool{
		fault.Unavailable: true, fault.CommitUncertain: true, fault.DeadlineExceeded: true, fault.Cancelled: true, fault.VersionConflict: true, fault.Locked: true,
		fault.NotFound: false, fault.Unauthenticated: false, fault.PermissionDenied: false, fault.IdempotencyMismatch: false, fault.Internal: false,
		fault.InvalidRequest: false, fault.StoreRolledBack: false, fault.QuotaExceeded: false,
	} {
		err := fault.New(reason, "why")
		if Retriable(err) != want || Retriable(&DeniedError{Err: err}) != want || Retriable(&ReportError{Err: err}) != want || Retriable(&ConfigurationError{DeniedError{Err: err}}) != want {
			t.Errorf("%s is retriable: %t", reason, !want)
		}
	}
	if Retriable(nil) || Retriable(errors.New("its own")) || Retriable(&DeniedError{Code: CodeToolNotAllowed}) || Retriable(&RejectedError{}) {
		t.Error("what the server has decided is retriable")
	}
}

// A mistake of the configuration is a denial too, so nothing that handles denials lets it pass.
func TestConfigurationErrorsAreDenials(t *testing.T) {
	t.Parallel()
	var err error = &ConfigurationError{DeniedError{Code: "UNAUTHENTICATED", Message: "who?", Err: fault.New(fault.Unauthenticated, "who?")}}
	var denied *DeniedError
	if !errors.As(err, &denied) || denied.Code != "UNAUTHENTICATED" || Reason(err) != fault.Unauthenticated {
		t.Errorf("%#v", err)
	}
}

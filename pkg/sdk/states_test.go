package sdk

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// fakeStates is a state-store of one state, which keeps the promises of its
// contract: versions, patches, idempotency keys (S10.3, S6.5).
type fakeStates struct {
	statev1.UnimplementedStateServiceServer
	way   bumpy // of all unary calls
	watch func(*statev1.WatchStateRequest, grpc.ServerStreamingServer[statev1.WatchStateResponse]) error

	mu       sync.Mutex
	doc      any
	version  int64
	answered map[string]*statev1.UpdateStateResponse
	created  map[string]*statev1.CreateStateRequest
	written  log[*statev1.UpdateStateRequest]
	read     log[*statev1.GetStateRequest]
}

func newStates(t testing.TB, doc string) *fakeStates {
	t.Helper()
	return &fakeStates{
		doc: mustParse(t, doc), version: 1,
		answered: map[string]*statev1.UpdateStateResponse{}, created: map[string]*statev1.CreateStateRequest{},
	}
}

func mustParse(t testing.TB, text string) any {
	t.Helper()
	v, err := parse([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func (s *fakeStates) CreateState(ctx context.Context, req *statev1.CreateStateRequest) (*statev1.CreateStateResponse, error) {
	return over(ctx, &s.way, func(req *statev1.CreateStateRequest) (*statev1.CreateStateResponse, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		key := req.GetIdempotencyKey()
		if key == "" {
			key = fmt.Sprint("none ", len(s.created))
		}
		s.created[key] = req
		return &statev1.CreateStateResponse{State: &statev1.State{
			StateId: fmt.Sprint("wfstate_", len(s.created)), SchemaName: req.GetSchemaName(), RootSessionName: req.GetSession(), Version: 1, Data: req.GetData(),
		}}, nil
	}, req)
}

func (s *fakeStates) GetState(ctx context.Context, req *statev1.GetStateRequest) (*statev1.GetStateResponse, error) {
	s.read.add(req)
	return over(ctx, &s.way, func(req *statev1.GetStateRequest) (*statev1.GetStateResponse, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		resp := &statev1.GetStateResponse{State: &statev1.State{StateId: "wfstate_1", Version: s.version}}
		if len(req.GetPointers()) == 0 {
			resp.State.Data, _ = write(s.doc)
		}
		for _, pointer := range req.GetPointers() {
			value, found := lookup(s.doc, pointer)
			part := &statev1.Part{Pointer: pointer, Found: found}
			if found {
				part.Value, _ = write(value)
			}
			resp.Parts = append(resp.Parts, part)
		}
		return resp, nil
	}, req)
}

func (s *fakeStates) UpdateState(ctx context.Context, req *statev1.UpdateStateRequest) (*statev1.UpdateStateResponse, error) {
	s.written.add(req)
	return over(ctx, &s.way, s.update, req)
}

func (s *fakeStates) update(req *statev1.UpdateStateRequest) (*statev1.UpdateStateResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, ok := s.answered[req.GetIdempotencyKey()]; ok {
		return first, nil
	}
	if want := req.GetExpectedVersion(); want != 0 && want != s.version {
		return nil, fault.New(fault.VersionConflict, "at version %d", s.version).Meta("current_version", strconv.FormatInt(s.version, 10))
	}
	switch change := req.GetChange().(type) {
	case *statev1.UpdateStateRequest_Data:
		doc, err := parse(change.Data)
		if err != nil {
			return nil, fault.New(fault.InvalidJSON, "%v", err)
		}
		s.doc = doc
	case *statev1.UpdateStateRequest_Patch:
		doc, err := patched(s.doc, change.Patch)
		if err != nil {
			return nil, fault.New(fault.PatchFailed, "%v", err)
		}
		s.doc = doc
	default:
		return nil, fault.New(fault.InvalidRequest, "no change")
	}
	s.version++
	resp := &statev1.UpdateStateResponse{State: &statev1.State{StateId: "wfstate_1", Version: s.version, UpdatedBy: req.GetSession()}}
	s.answered[req.GetIdempotencyKey()] = resp
	return resp, nil
}

func (s *fakeStates) WatchState(req *statev1.WatchStateRequest, stream grpc.ServerStreamingServer[statev1.WatchStateResponse]) error {
	return s.watch(req, stream)
}

// lookup finds the part of a document that a JSON Pointer without escapes names.
func lookup(doc any, pointer string) (any, bool) {
	if pointer == "" {
		return doc, true
	}
	name, rest, more := strings.Cut(pointer[1:], "/")
	if more {
		rest = "/" + rest
	}
	switch v := doc.(type) {
	case map[string]any:
		if value, there := v[name]; there {
			return lookup(value, rest)
		}
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i < len(v) {
			return lookup(v[i], rest)
		}
	}
	return nil, false
}

// patched applies a patch.
func patched(doc any, patch []byte) (any, error) {
	ops, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, err
	}
	text, err := write(doc)
	if err != nil {
		return nil, err
	}
	if text, err = ops.Apply(text); err != nil {
		return nil, err
	}
	return parse(text)
}

// now is the document and its version.
func (s *fakeStates) now() (string, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, _ := write(s.doc)
	return string(text), s.version
}

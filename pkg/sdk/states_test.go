package sdk

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
)

// fakeStates is a state-store of one state, which keeps the promises of its
// contract: versions, patches, idempotency keys (S10.3, S6.5).
type fakeStates struct {
	statev1.UnimplementedStateServiceServer
	way   bumpy // of all unary calls
	watch func(*statev1.StateServiceWatchRequest, grpc.ServerStreamingServer[statev1.StateServiceWatchResponse]) error

	mu       sync.Mutex
	doc      document.Value
	version  int64
	answered map[string]*statev1.StateServiceUpdateResponse
	created  map[string]*statev1.StateServiceCreateRequest
	written  log[*statev1.StateServiceUpdateRequest]
	read     log[*statev1.StateServiceGetRequest]
}

func newStates(t testing.TB, doc string) *fakeStates {
	t.Helper()
	return &fakeStates{
		doc: mustParse(t, doc), version: 1,
		answered: map[string]*statev1.StateServiceUpdateResponse{}, created: map[string]*statev1.StateServiceCreateRequest{},
	}
}

func mustParse(t testing.TB, text string) document.Value {
	t.Helper()
	v, err := parse([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func (s *fakeStates) Create(ctx context.Context, req *statev1.StateServiceCreateRequest) (*statev1.StateServiceCreateResponse, error) {
	return over(ctx, &s.way, func(req *statev1.StateServiceCreateRequest) (*statev1.StateServiceCreateResponse, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		key := req.GetIdempotencyKey()
		if key == "" {
			key = fmt.Sprint("none ", len(s.created))
		}
		s.created[key] = req
		return &statev1.StateServiceCreateResponse{State: &statev1.State{
			StateId: fmt.Sprint("wfstate_", len(s.created)), SchemaName: req.GetSchemaName(), RootSessionName: req.GetSession(), Version: 1, Data: req.GetData(),
		}}, nil
	}, req)
}

func (s *fakeStates) Get(ctx context.Context, req *statev1.StateServiceGetRequest) (*statev1.StateServiceGetResponse, error) {
	s.read.add(req)
	return over(ctx, &s.way, func(req *statev1.StateServiceGetRequest) (*statev1.StateServiceGetResponse, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		resp := &statev1.StateServiceGetResponse{State: &statev1.State{StateId: "wfstate_1", Version: s.version}}
		if len(req.GetPointers()) == 0 {
			resp.State.Data = s.doc.AppendJSON(nil)
		}
		for _, pointer := range req.GetPointers() {
			value, found := document.Lookup(s.doc, pointer)
			part := &statev1.Part{Pointer: pointer, Found: found}
			if found {
				part.Value = value.AppendJSON(nil)
			}
			resp.Parts = append(resp.Parts, part)
		}
		return resp, nil
	}, req)
}

func (s *fakeStates) Update(ctx context.Context, req *statev1.StateServiceUpdateRequest) (*statev1.StateServiceUpdateResponse, error) {
	s.written.add(req)
	return over(ctx, &s.way, s.update, req)
}

func (s *fakeStates) update(req *statev1.StateServiceUpdateRequest) (*statev1.StateServiceUpdateResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, ok := s.answered[req.GetIdempotencyKey()]; ok {
		return first, nil
	}
	if want := req.GetExpectedVersion(); want != 0 && want != s.version {
		return nil, fault.New(fault.VersionConflict, "at version %d", s.version).Meta("current_version", strconv.FormatInt(s.version, 10))
	}
	switch change := req.GetChange().(type) {
	case *statev1.StateServiceUpdateRequest_Data:
		doc, err := parse(change.Data)
		if err != nil {
			return nil, fault.New(fault.InvalidJSON, "%v", err)
		}
		s.doc = doc
	case *statev1.StateServiceUpdateRequest_Patch:
		patch, problems := document.ParsePatch(change.Patch, document.PatchLimits{})
		if problems.HasErrors() {
			return nil, fault.New(fault.InvalidJSON, "%v", problems)
		}
		doc, failed := patch.Apply(s.doc, document.PatchLimits{})
		if failed != nil {
			return nil, fault.New(fault.PatchFailed, "%s", failed.Message)
		}
		s.doc = doc
	default:
		return nil, fault.New(fault.InvalidRequest, "no change")
	}
	s.version++
	resp := &statev1.StateServiceUpdateResponse{State: &statev1.State{StateId: "wfstate_1", Version: s.version, UpdatedBy: req.GetSession()}}
	s.answered[req.GetIdempotencyKey()] = resp
	return resp, nil
}

func (s *fakeStates) Watch(req *statev1.StateServiceWatchRequest, stream grpc.ServerStreamingServer[statev1.StateServiceWatchResponse]) error {
	return s.watch(req, stream)
}

// now is the document and its version.
func (s *fakeStates) now() (string, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doc.String(), s.version
}

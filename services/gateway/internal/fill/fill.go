// Package fill puts values into the instructions and questions of runs, where their authors
// refer to them (S15.2): values of the run's context, of the state that its session shares,
// and of components. It reads them as the caller of each request, who sees only values that
// it could read itself.
package fill

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/placeholder"
)

// Sources are where values come from. Without a state-store, only contexts are known.
type Sources struct {
	States     statev1.StateServiceClient
	Components statev1.ComponentServiceClient
}

// Runs returns the runs of an engine, with their instructions filled in.
func Runs(engine enginev1.RunServiceClient, from Sources) enginev1.RunServiceClient {
	return runs{engine, from}
}

// Processes returns the processes of an engine, with their questions filled in.
func Processes(engine enginev1.ProcessServiceClient, from Sources) enginev1.ProcessServiceClient {
	return processes{engine, from}
}

type runs struct {
	enginev1.RunServiceClient
	from Sources
}

func (r runs) StartRun(ctx context.Context, in *enginev1.StartRunRequest, opts ...grpc.CallOption) (*enginev1.StartRunResponse, error) {
	res, err := r.RunServiceClient.StartRun(ctx, in, opts...)
	r.from.fill(ctx, res.GetRun())
	return res, err
}

func (r runs) GetRun(ctx context.Context, in *enginev1.GetRunRequest, opts ...grpc.CallOption) (*enginev1.GetRunResponse, error) {
	res, err := r.RunServiceClient.GetRun(ctx, in, opts...)
	r.from.fill(ctx, res.GetRun())
	return res, err
}

func (r runs) TransitionRun(ctx context.Context, in *enginev1.TransitionRunRequest, opts ...grpc.CallOption) (*enginev1.TransitionRunResponse, error) {
	res, err := r.RunServiceClient.TransitionRun(ctx, in, opts...)
	r.from.fill(ctx, res.GetRun())
	return res, err
}

func (r runs) BindBranch(ctx context.Context, in *enginev1.BindBranchRequest, opts ...grpc.CallOption) (*enginev1.BindBranchResponse, error) {
	res, err := r.RunServiceClient.BindBranch(ctx, in, opts...)
	r.from.fill(ctx, res.GetRun())
	return res, err
}

func (r runs) ForceState(ctx context.Context, in *enginev1.ForceStateRequest, opts ...grpc.CallOption) (*enginev1.ForceStateResponse, error) {
	res, err := r.RunServiceClient.ForceState(ctx, in, opts...)
	r.from.fill(ctx, res.GetRun())
	return res, err
}

type processes struct {
	enginev1.ProcessServiceClient
	from Sources
}

func (p processes) StartProcess(ctx context.Context, in *enginev1.StartProcessRequest, opts ...grpc.CallOption) (*enginev1.StartProcessResponse, error) {
	res, err := p.ProcessServiceClient.StartProcess(ctx, in, opts...)
	p.from.turn(ctx, res.GetTurn(), res.GetRun())
	return res, err
}

func (p processes) AnswerQuestion(ctx context.Context, in *enginev1.AnswerQuestionRequest, opts ...grpc.CallOption) (*enginev1.AnswerQuestionResponse, error) {
	res, err := p.ProcessServiceClient.AnswerQuestion(ctx, in, opts...)
	p.from.turn(ctx, res.GetTurn(), res.GetRun())
	return res, err
}

// turn fills in a question, and the text before the first.
func (s Sources) turn(ctx context.Context, turn *enginev1.Turn, run *enginev1.Run) {
	if turn != nil && run != nil {
		v := s.values(ctx, run)
		for _, text := range []*string{&turn.Question, &turn.InitialPrompt, &turn.Text} {
			*text = placeholder.Fill(*text, v.get)
		}
	}
	s.fill(ctx, run)
}

// fill fills in the instructions of a run.
func (s Sources) fill(ctx context.Context, run *enginev1.Run) {
	rules := run.GetRules()
	if rules == nil || !placeholder.Has(rules.GetInstructions()) {
		return
	}
	run.Rules = proto.CloneOf(rules) // who has answered may keep them
	run.Rules.Instructions = placeholder.Fill(rules.GetInstructions(), s.values(ctx, run).get)
}

// values has the values of references of one run, each source read once. An unreadable
// one is missing: instructions never keep an agent from its work.
type values struct {
	ctx        context.Context
	from       Sources
	run        *enginev1.Run
	context    document.Value
	components map[string]document.Value
}

func (s Sources) values(ctx context.Context, run *enginev1.Run) *values {
	return &values{ctx: ctx, from: s, run: run, components: map[string]document.Value{}}
}

func (v *values) get(r placeholder.Reference) (document.Value, bool) {
	switch r.Kind {
	case placeholder.Context:
		if v.context.IsZero() {
			v.context = read(v.run.GetContext())
		}
		return placeholder.Lookup(v.context, r.Name)
	case placeholder.State:
		return v.state(r.Name)
	case placeholder.Component:
		known, asked := v.components[r.Slug]
		if !asked {
			known = v.component(r.Slug)
			v.components[r.Slug] = known
		}
		return placeholder.Lookup(known, r.Name)
	default:
		return document.Value{}, false
	}
}

func (v *values) state(pointer string) (document.Value, bool) {
	if v.from.States == nil || v.run.GetSessionId() == "" {
		return document.Value{}, false
	}
	res, err := v.from.States.GetState(v.ctx, &statev1.GetStateRequest{Session: v.run.GetSessionId(), Pointers: []string{pointer}})
	if err != nil || len(res.GetParts()) != 1 || !res.GetParts()[0].GetFound() {
		return document.Value{}, false
	}
	return read(res.GetParts()[0].GetValue()), true
}

func (v *values) component(slug string) document.Value {
	if v.from.Components == nil || v.run.GetSessionId() == "" {
		return document.Value{}
	}
	res, err := v.from.Components.GetComponentValues(v.ctx, &statev1.GetComponentValuesRequest{Slug: slug, Session: v.run.GetSessionId()})
	if err != nil {
		return document.Value{}
	}
	return read(res.GetExecution().GetValues())
}

// read reads JSON that a service has answered; other text is missing.
func read(text []byte) document.Value {
	v, problem := document.Parse(text, document.Limits{Bytes: len(text) + 1})
	if problem != nil {
		return document.Value{}
	}
	return v
}

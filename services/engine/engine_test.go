package engine_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

var update = flag.Bool("update", false, "write what the transcripts really say")

// rig is an engine behind its contract, and humans that it asks by theirs.
type rig struct {
	*testing.T
	clock     *storetest.Clock
	humans    *humans
	processes enginev1.ProcessServiceClient
	runs      enginev1.RunServiceClient
	peer      peerv1.RunPeerServiceClient
	workflows enginev1.WorkflowServiceClient
	engine    *engine.Engine

	name, run string // of the last process, and its run
	numbers   map[string]string
	counted   map[string]int
}

func newRig(t *testing.T) *rig {
	t.Helper()
	clock := storetest.NewClock()
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db"), Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	if _, err := st.Commit(t.Context(), store.Batch{Puts: []store.Put{{
		Key: ledger.PolicyIndexOf("default"), Expect: store.Absent, Data: []byte(`{"policies": {"guard": {}}}`),
	}}}); err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, clock: clock, humans: &humans{clock: clock.Now, asked: map[string]*question{}}, numbers: map[string]string{}, counted: map[string]int{}}
	approvals := r.serve(func(s *grpc.Server) {
		approvalv1.RegisterApprovalServiceServer(s, r.humans)
		peerv1.RegisterApprovalPeerServiceServer(s, r.humans)
	})
	e := engine.New(engine.Config{Store: st, Approval: approvals, Clock: clock.Now, Logger: slog.New(slog.DiscardHandler), Enforcement: workflow.WhileRunning})
	r.engine = e
	conn := r.serve(func(s *grpc.Server) { e.Register(s) })
	r.peer = peerv1.NewRunPeerServiceClient(conn)
	r.processes, r.runs, r.workflows = enginev1.NewProcessServiceClient(conn), enginev1.NewRunServiceClient(conn), enginev1.NewWorkflowServiceClient(conn)
	return r
}

// serve makes a connection to services that take everybody for the same agent.
func (r *rig) serve(register func(*grpc.Server)) *grpc.ClientConn {
	r.Helper()
	lis := bufconn.Listen(1 << 20)
	server := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		return handle(auth.WithPrincipal(ctx, auth.Principal{Name: "amir", Role: auth.Agent}), req)
	}))
	register(server)
	go func() { _ = server.Serve(lis) }()
	r.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:///bufconn", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestProcesses replays testdata/processes: blocks of an instruction, a line of dashes,
// and what came of it over the contract. `go test ./engine -run Processes -update`
// rewrites them, and the difference is reviewed.
func TestProcesses(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/processes/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := newRig(t).replay(string(src))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(src) {
				t.Errorf("%s does not say what happens; it is\n%s", file, got)
			}
		})
	}
}

func (r *rig) replay(src string) string {
	r.Helper()
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(src), "\n\n") {
		if strings.HasPrefix(block, "#") {
			out.WriteString(block + "\n\n")
			continue
		}
		input, _, _ := strings.Cut(block, "\n----")
		out.WriteString(input + "\n----\n" + ids.ReplaceAllStringFunc(r.play(input), r.number) + "\n\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// ids differ from one time to the next.
var ids = regexp.MustCompile(`\b(apr|run)_[0-9a-z]{26}\b`)

// number makes ids the same each time: they are counted as they are met.
func (r *rig) number(id string) string {
	if r.numbers[id] == "" {
		prefix, _, _ := strings.Cut(id, "_")
		r.counted[prefix]++
		r.numbers[id] = fmt.Sprintf("%s_%d", prefix, r.counted[prefix])
	}
	return r.numbers[id]
}

// play follows one instruction.
func (r *rig) play(input string) string {
	r.Helper()
	line, rest, _ := strings.Cut(input, "\n")
	verb, argument, _ := strings.Cut(line, " ")
	ctx := r.Context()
	switch verb {
	case "file": // of package process
		src, err := os.ReadFile(filepath.Join("..", "..", "pkg", "process", "testdata", argument))
		if err != nil {
			r.Fatal(err)
		}
		return r.play("process\n" + string(src))
	case "process":
		resp, err := r.processes.RegisterProcess(ctx, &enginev1.RegisterProcessRequest{Definition: []byte(rest)})
		if err != nil {
			return err.Error()
		}
		r.name = resp.GetProcess().GetName()
		return fmt.Sprintf("%s version %d, created %t, tools %v", r.name, resp.GetProcess().GetVersion(), resp.GetCreated(), resp.GetProcess().GetTools())
	case "start":
		resp, err := r.processes.StartProcess(ctx, &enginev1.StartProcessRequest{Process: r.name, SessionId: argument})
		if err != nil {
			return err.Error()
		}
		r.run = resp.GetRun().GetRunId()
		return told(resp.GetRun(), resp.GetTurn())
	case "answer": // ANSWER[: note]
		answer, note, _ := strings.Cut(argument, ": ")
		resp, err := r.processes.AnswerQuestion(ctx, &enginev1.AnswerQuestionRequest{RunId: r.run, Answer: answer, Note: note})
		if err != nil {
			return err.Error()
		}
		if why := resp.GetRejection(); why != nil || !resp.GetAccepted() {
			return fmt.Sprintf("%s\n%s", strings.TrimPrefix(why.GetCode().String(), "REJECTION_CODE_"), why.GetMessage())
		}
		return told(resp.GetRun(), resp.GetTurn())
	case "approve", "reject":
		if err := r.humans.decide(consent.Decision{Approve: verb == "approve", Note: argument}); err != nil {
			return err.Error()
		}
		return r.settle()
	case "wait":
		d, err := time.ParseDuration(argument)
		if err != nil {
			r.Fatal(err)
		}
		r.clock.Advance(d)
		return r.settle()
	case "history":
		return r.history()
	default:
		r.Fatalf("no instruction %q", verb)
		return ""
	}
}

func (r *rig) settle() string {
	resp, err := r.peer.SettleApproval(r.Context(), &peerv1.SettleApprovalRequest{RunId: r.run, ApprovalId: r.humans.last})
	if err != nil {
		return err.Error()
	}
	turn, err := r.processes.AnswerQuestion(r.Context(), &enginev1.AnswerQuestionRequest{RunId: r.run})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("settled %t, %s\n%s", resp.GetSettled(), r.humans.asked[r.humans.last].proto().GetStatus(), told(turn.GetRun(), turn.GetTurn()))
}

// told is what an agent and its client learn.
func told(run *enginev1.Run, turn *enginev1.Turn) string {
	var events []string
	for _, e := range run.GetRules().GetLegalEvents() {
		events = append(events, e.GetEvent())
	}
	line := fmt.Sprintf("%s in %s, process %t, events %q, answers %q, prompt %q",
		strings.TrimPrefix(run.GetStatus().String(), "RUN_STATUS_"), run.GetState(), run.GetWorkflowMeta().GetProcess(), events, turn.GetAnswers(), turn.GetInitialPrompt())
	if a := run.GetApproval(); a != nil {
		line += fmt.Sprintf("\n%s asks for %s -> %s: %q, pending %t %s %q by %q", a.GetApprovalId(), a.GetEvent(), a.GetTo(), a.GetMessage(),
			a.GetPending(), protomap.Word(a.GetOutcome(), "APPROVAL_OUTCOME_"), a.GetNote(), a.GetDecidedBy())
	}
	return line + "\n> " + strings.ReplaceAll(turn.GetText(), "\n", "\n> ")
}

func (r *rig) history() string {
	resp, err := r.runs.GetRunHistory(r.Context(), &enginev1.GetRunHistoryRequest{RunId: r.run})
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, e := range resp.GetEntries() {
		line := fmt.Sprintf("%d %s by %s: %s %s -> %s", e.GetRunVersion(), protomap.HistoryWord(e.GetType()), e.GetActor(), e.GetEvent(), e.GetFrom(), e.GetTo())
		for _, more := range []string{e.GetRationale(), e.GetApprovalId(), e.GetReason()} {
			if more != "" {
				line += "; " + more
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

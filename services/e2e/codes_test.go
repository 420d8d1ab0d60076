package e2e

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/evidence"
)

// TestContractsHaveEveryCode: each code and status of the pure packages has a value in the contract.
// One without a value would reach no caller.
func TestContractsHaveEveryCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of, name string // the package and the type of the constants
		values   map[string]int32
		prefix   string
	}{
		{"toolcall", "Decision", policyv1.Decision_value, "DECISION_"},
		{"toolcall", "Code", policyv1.DecisionCode_value, "DECISION_CODE_"},
		{"workflow", "Status", enginev1.RunStatus_value, "RUN_STATUS_"},
		{"workflow", "BranchStatus", enginev1.BranchStatus_value, "BRANCH_STATUS_"},
		{"workflow", "ApprovalOutcome", enginev1.ApprovalOutcome_value, "APPROVAL_OUTCOME_"},
		{"workflow", "RejectionCode", enginev1.RejectionCode_value, "REJECTION_CODE_"},
		{"session", "Status", statev1.SessionStatus_value, "SESSION_STATUS_"},
		{"session", "UpdateStatus", statev1.StateUpdateStatus_value, "STATE_UPDATE_STATUS_"},
		{"session", "Kind", statev1.TaskKind_value, "TASK_KIND_"},
		{"consent", "Status", approvalv1.ApprovalStatus_value, "APPROVAL_STATUS_"},
	} {
		constants := constantsOf(t, "../../pkg/"+c.of, c.name)
		if len(constants) < 2 {
			t.Errorf("%s.%s has %d constants", c.of, c.name, len(constants))
		}
		for _, constant := range constants {
			value := c.prefix + strings.ToUpper(constant)
			if _, known := c.values[value]; !known {
				t.Errorf("%s.%s %q: the contract lacks %s", c.of, c.name, constant, value)
			}
		}
	}
}

// TestCodeOfTooManyOpenCalls: S14.6 over REST: the call after the 256th that is open is denied with its
// code, and the log of decisions finds it, and every other code, by that.
func TestCodeOfTooManyOpenCalls(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	w.as(t, auth.Operator).register(t, provenFix)
	run := w.as(t, auth.Agent).start(t, "proven").GetRunId()
	edit := func(i int) reply {
		return w.send(t, http.MethodPost, "/v1/runs/"+run+"/check", w.tokens[auth.Agent],
			fmt.Sprintf(`{"tool":"Edit","input":{"file_path":"a","old_string":"a","new_string":"b"},"call_id":"c%d"}`, i))
	}
	for i := range evidence.MostCalls {
		if got := edit(i); got.field("decision") != "ALLOW" {
			t.Fatalf("call %d: %v", i, got)
		}
	}
	if got := edit(evidence.MostCalls); got.field("decision") != "DENY" || got.field("code") != "EFFECTS_UNKNOWN" {
		t.Errorf("one too many: %v", got)
	}
	for _, code := range constantsOf(t, "../../pkg/toolcall", "Code") {
		got := w.send(t, http.MethodGet, "/v1/decisions?run_id="+run+"&code="+code, w.tokens[auth.Operator], "")
		if found := strings.Contains(got.body, `"call_id":"c256"`); got.status != http.StatusOK || found != (code == "EFFECTS_UNKNOWN") {
			t.Errorf("decisions with %s: %v", code, got)
		}
	}
}

// constantsOf returns the values of a package's constants of a type of texts.
func constantsOf(t *testing.T, folder, name string) (values []string) {
	t.Helper()
	for _, file := range must[[]string](t)(filepath.Glob(folder + "/*.go")) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		ast.Inspect(must[*ast.File](t)(parser.ParseFile(token.NewFileSet(), file, nil, 0)), func(n ast.Node) bool {
			spec, is := n.(*ast.ValueSpec)
			if !is {
				return true
			}
			if of, is := spec.Type.(*ast.Ident); !is || of.Name != name {
				return true
			}
			for _, value := range spec.Values {
				if text, is := value.(*ast.BasicLit); is && text.Kind == token.STRING && text.Value != `""` {
					values = append(values, must[string](t)(strconv.Unquote(text.Value)))
				}
			}
			return true
		})
	}
	return values
}

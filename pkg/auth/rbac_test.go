package auth_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "google.golang.org/grpc/health/grpc_health_v1"
	_ "google.golang.org/grpc/reflection/grpc_reflection_v1"
	_ "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	_ "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	_ "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	_ "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
)

// described are all RPCs of the descriptors that this test links.
func described() map[string]bool {
	names := make(map[string]bool)
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		services := file.Services()
		for i := range services.Len() {
			service := services.Get(i)
			for j := range service.Methods().Len() {
				names["/"+string(service.FullName())+"/"+string(service.Methods().Get(j).Name())] = true
			}
		}
		return true
	})
	return names
}

func TestEveryRPCIsInTheTable(t *testing.T) {
	t.Parallel()
	rpcs := described()
	if len(rpcs) < 15 {
		t.Fatalf("only %d RPCs are linked", len(rpcs))
	}
	for name := range rpcs {
		if !auth.Known(name) {
			t.Errorf("%s is not in the table of rbac.go: nobody may call it", name)
		}
	}
	for _, name := range auth.Methods() {
		if !rpcs[name] {
			t.Errorf("%s is in the table but does not exist", name)
		}
	}
}

// The protos are the truth about which services there are: one that this test
// does not link would go unnoticed above.
func TestEveryServiceOfTheProtosIsLinked(t *testing.T) {
	t.Parallel()
	linked := make(map[string]bool)
	for name := range described() {
		linked[strings.Split(name, "/")[1]] = true
	}
	files, err := filepath.Glob("../../proto/interlock/*/v*/*.proto")
	if err != nil || len(files) == 0 {
		t.Fatalf("no protos: %v", err)
	}
	pkg, service := regexp.MustCompile(`(?m)^package ([\w.]+);`), regexp.MustCompile(`(?m)^service (\w+)`)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range service.FindAllSubmatch(data, -1) {
			name := string(pkg.FindSubmatch(data)[1]) + "." + string(match[1])
			if !linked[name] {
				t.Errorf("%s of %s is not linked: import its generated package in this test", name, filepath.Base(file))
			}
		}
	}
}

func TestWhoMayCallWhat(t *testing.T) {
	t.Parallel()
	// Letters: a(gent) o(perator) p (approver) v (observer) s(ervice). Written a
	// second time, so that nobody's rights change by a slip of the pen.
	want := map[string]string{
		"/interlock.engine.v1.WorkflowService/RegisterWorkflow":          "ao",
		"/interlock.engine.v1.WorkflowService/GetWorkflow":               "aopvs",
		"/interlock.engine.v1.WorkflowService/ListWorkflows":             "aopvs",
		"/interlock.engine.v1.WorkflowService/ValidateWorkflow":          "aopvs",
		"/interlock.engine.v1.RunService/StartRun":                       "ao",
		"/interlock.engine.v1.RunService/GetRun":                         "aopvs",
		"/interlock.engine.v1.RunService/ListRuns":                       "aopvs",
		"/interlock.engine.v1.RunService/TransitionRun":                  "ao",
		"/interlock.engine.v1.RunService/BindBranch":                     "ao",
		"/interlock.engine.v1.RunService/InterruptRun":                   "ao",
		"/interlock.engine.v1.RunService/ForceState":                     "ao",
		"/interlock.engine.v1.RunService/PauseRun":                       "ao",
		"/interlock.engine.v1.RunService/ResumeRun":                      "ao",
		"/interlock.engine.v1.RunService/CancelRun":                      "ao",
		"/interlock.engine.v1.RunService/GetRunHistory":                  "aopvs",
		"/interlock.engine.v1.RunService/WatchRun":                       "aopvs",
		"/interlock.engine.v1.RunService/SettleApproval":                 "os",
		"/interlock.engine.v1.ProcessService/RegisterProcess":            "ao",
		"/interlock.engine.v1.ProcessService/GetProcess":                 "aopvs",
		"/interlock.engine.v1.ProcessService/ListProcesses":              "aopvs",
		"/interlock.engine.v1.ProcessService/StartProcess":               "ao",
		"/interlock.engine.v1.ProcessService/AnswerQuestion":             "ao",
		"/interlock.approval.v1.ApprovalService/CreateApproval":          "os",
		"/interlock.approval.v1.ApprovalService/GetApproval":             "aopvs",
		"/interlock.approval.v1.ApprovalService/ListApprovals":           "opvs",
		"/interlock.approval.v1.ApprovalService/DecideApproval":          "op",
		"/interlock.approval.v1.ApprovalService/CancelApproval":          "os",
		"/interlock.approval.v1.ApprovalService/ConsumeApproval":         "os",
		"/interlock.approval.v1.ApprovalService/VoidApproval":            "os",
		"/interlock.approval.v1.ApprovalService/WatchApproval":           "aopvs",
		"/interlock.approval.v1.ApprovalService/WatchApprovals":          "opvs",
		"/interlock.policy.v1.PolicyService/RegisterPolicy":              "o",
		"/interlock.policy.v1.PolicyService/GetPolicy":                   "aopvs",
		"/interlock.policy.v1.PolicyService/ListPolicies":                "opvs",
		"/interlock.policy.v1.PolicyService/PromotePolicy":               "o",
		"/interlock.policy.v1.PolicyService/DeletePolicy":                "o",
		"/interlock.policy.v1.PolicyService/AttachPolicy":                "o",
		"/interlock.policy.v1.PolicyService/DetachPolicy":                "o",
		"/interlock.policy.v1.PolicyService/ShadowWorkflow":              "o",
		"/interlock.policy.v1.PolicyService/GetPolicyUsage":              "aopvs",
		"/interlock.policy.v1.PolicyService/SimulatePolicy":              "opv",
		"/interlock.policy.v1.UpstreamService/ObserveUpstreamTools":      "aos",
		"/interlock.policy.v1.UpstreamService/ListUpstreamTools":         "opv",
		"/interlock.policy.v1.UpstreamService/AcceptUpstreamTools":       "o",
		"/interlock.policy.v1.DecisionService/ListDecisions":             "opv",
		"/interlock.policy.v1.DecisionService/VerifyDecisions":           "opv",
		"/interlock.policy.v1.PolicyEnforcerService/CheckToolCall":       "ao",
		"/interlock.policy.v1.PolicyEnforcerService/CheckToolCalls":      "ao",
		"/interlock.policy.v1.PolicyEnforcerService/ReportToolCall":      "ao",
		"/interlock.state.v1.SchemaService/RegisterSchema":               "o",
		"/interlock.state.v1.SchemaService/GetSchema":                    "aopvs",
		"/interlock.state.v1.SchemaService/ListSchemas":                  "aopvs",
		"/interlock.state.v1.SchemaService/ListSchemaVersions":           "aopvs",
		"/interlock.state.v1.StateService/CreateState":                   "ao",
		"/interlock.state.v1.StateService/GetState":                      "aopvs",
		"/interlock.state.v1.StateService/ListStates":                    "aopvs",
		"/interlock.state.v1.StateService/UpdateState":                   "ao",
		"/interlock.state.v1.StateService/MigrateState":                  "ao",
		"/interlock.state.v1.StateService/DeleteState":                   "ao",
		"/interlock.state.v1.StateService/GetStateHistory":               "aopvs",
		"/interlock.state.v1.StateService/LockState":                     "ao",
		"/interlock.state.v1.StateService/UnlockState":                   "ao",
		"/interlock.state.v1.StateService/WatchState":                    "aopvs",
		"/interlock.state.v1.SessionService/CreateSession":               "ao",
		"/interlock.state.v1.SessionService/GetSession":                  "aopvs",
		"/interlock.state.v1.SessionService/ListSessions":                "aopvs",
		"/interlock.state.v1.SessionService/StopSession":                 "ao",
		"/interlock.state.v1.SessionService/ResumeSession":               "ao",
		"/interlock.state.v1.SessionService/GetSessionResult":            "aopvs",
		"/interlock.state.v1.SessionService/DeleteSession":               "o",
		"/interlock.state.v1.SessionService/GrantStateAccess":            "o",
		"/interlock.state.v1.TaskService/LeaseTasks":                     "o",
		"/interlock.state.v1.TaskService/ExtendTask":                     "o",
		"/interlock.state.v1.TaskService/CompleteTask":                   "o",
		"/interlock.state.v1.TaskService/FailTask":                       "o",
		"/interlock.state.v1.TaskService/ListTasks":                      "opv",
		"/interlock.state.v1.ComponentService/CreateComponent":           "o",
		"/interlock.state.v1.ComponentService/GetComponent":              "aopvs",
		"/interlock.state.v1.ComponentService/ListComponents":            "aopvs",
		"/interlock.state.v1.ComponentService/UpdateComponent":           "o",
		"/interlock.state.v1.ComponentService/DeleteComponent":           "o",
		"/interlock.state.v1.ComponentService/BeginExecution":            "ao",
		"/interlock.state.v1.ComponentService/CommitExecution":           "ao",
		"/interlock.state.v1.ComponentService/GetComponentValues":        "aopvs",
		"/grpc.health.v1.Health/Check":                                   "aopvs",
		"/grpc.health.v1.Health/List":                                    "aopvs",
		"/grpc.health.v1.Health/Watch":                                   "aopvs",
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      "aopvs",
		"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": "aopvs",
	}
	for _, name := range auth.Methods() {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is missing here", name)
		}
		if open := strings.HasPrefix(name, "/grpc.health."); auth.Open(name) != open {
			t.Errorf("%s open is %v", name, !open)
		}
	}
	for _, unknown := range []string{
		"/interlock.engine.v1.RunService/NoSuchRPC", "/interlock.engine.v1.RunService/start",
		"interlock.engine.v1.RunService/StartRun", "",
	} {
		want[unknown] = ""
	}
	for name, want := range want {
		got := ""
		for i, role := range append(auth.Roles(), auth.Service) {
			if auth.Allowed(name, role) {
				got += "aopvs"[i : i+1]
			}
		}
		if got != want {
			t.Errorf("%s is for %q, want %q", name, got, want)
		}
		for _, role := range []auth.Role{"", "root", "Agent", "operator ", "Service"} {
			if auth.Allowed(name, role) {
				t.Errorf("%s is allowed to the role %q", name, role)
			}
		}
	}
}

// An agent acts within the rules that others have made for it (S8, S9.3).
func TestWhatAgentsCanNever(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"/interlock.approval.v1.ApprovalService/CreateApproval", "/interlock.approval.v1.ApprovalService/DecideApproval",
		"/interlock.approval.v1.ApprovalService/ConsumeApproval", "/interlock.approval.v1.ApprovalService/ListApprovals",
		"/interlock.engine.v1.RunService/SettleApproval",
		"/interlock.policy.v1.PolicyService/RegisterPolicy", "/interlock.policy.v1.PolicyService/AttachPolicy",
		"/interlock.policy.v1.PolicyService/DetachPolicy", "/interlock.policy.v1.DecisionService/ListDecisions",
		"/interlock.state.v1.SessionService/GrantStateAccess",
	} {
		if !auth.Known(name) || auth.Allowed(name, auth.Agent) {
			t.Errorf("%s: known %v, and agents may call it", name, auth.Known(name))
		}
	}
	for _, name := range auth.Methods() {
		if auth.Allowed(name, auth.Service) && strings.HasSuffix(name, "/Decide") {
			t.Errorf("a service decides by %s: only humans do", name)
		}
	}
}

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
		"/interlock.engine.v1.WorkflowService/Register":                  "ao",
		"/interlock.engine.v1.WorkflowService/Get":                       "aopvs",
		"/interlock.engine.v1.WorkflowService/List":                      "aopvs",
		"/interlock.engine.v1.WorkflowService/Validate":                  "aopvs",
		"/interlock.engine.v1.RunService/Start":                          "ao",
		"/interlock.engine.v1.RunService/Get":                            "aopvs",
		"/interlock.engine.v1.RunService/List":                           "aopvs",
		"/interlock.engine.v1.RunService/Transition":                     "ao",
		"/interlock.engine.v1.RunService/BindBranch":                     "ao",
		"/interlock.engine.v1.RunService/Interrupt":                      "ao",
		"/interlock.engine.v1.RunService/ForceState":                     "o",
		"/interlock.engine.v1.RunService/Pause":                          "ao",
		"/interlock.engine.v1.RunService/Resume":                         "ao",
		"/interlock.engine.v1.RunService/Cancel":                         "ao",
		"/interlock.engine.v1.RunService/History":                        "aopvs",
		"/interlock.engine.v1.RunService/Watch":                          "aopvs",
		"/interlock.engine.v1.RunService/Settle":                         "os",
		"/interlock.engine.v1.ProcessService/Register":                   "ao",
		"/interlock.engine.v1.ProcessService/Get":                        "aopvs",
		"/interlock.engine.v1.ProcessService/List":                       "aopvs",
		"/interlock.engine.v1.ProcessService/Start":                      "ao",
		"/interlock.engine.v1.ProcessService/Answer":                     "ao",
		"/interlock.approval.v1.ApprovalService/Create":                  "os",
		"/interlock.approval.v1.ApprovalService/Get":                     "aopvs",
		"/interlock.approval.v1.ApprovalService/List":                    "opvs",
		"/interlock.approval.v1.ApprovalService/Decide":                  "op",
		"/interlock.approval.v1.ApprovalService/Cancel":                  "os",
		"/interlock.approval.v1.ApprovalService/Consume":                 "os",
		"/interlock.approval.v1.ApprovalService/Void":                    "os",
		"/interlock.approval.v1.ApprovalService/Wait":                    "aopvs",
		"/interlock.approval.v1.ApprovalService/Watch":                   "opvs",
		"/interlock.policy.v1.PolicyService/Put":                         "o",
		"/interlock.policy.v1.PolicyService/Get":                         "aopvs",
		"/interlock.policy.v1.PolicyService/List":                        "opvs",
		"/interlock.policy.v1.PolicyService/Promote":                     "o",
		"/interlock.policy.v1.PolicyService/Delete":                      "o",
		"/interlock.policy.v1.PolicyService/Attach":                      "o",
		"/interlock.policy.v1.PolicyService/Detach":                      "o",
		"/interlock.policy.v1.PolicyService/ShadowWorkflow":              "o",
		"/interlock.policy.v1.PolicyService/Usage":                       "aopvs",
		"/interlock.policy.v1.PolicyService/Simulate":                    "opv",
		"/interlock.policy.v1.DecisionService/List":                      "opv",
		"/interlock.policy.v1.DecisionService/Verify":                    "opv",
		"/interlock.policy.v1.PolicyEnforcerService/CheckToolCall":       "ao",
		"/interlock.policy.v1.PolicyEnforcerService/CheckToolCalls":      "ao",
		"/interlock.policy.v1.PolicyEnforcerService/ReportToolCall":      "ao",
		"/interlock.state.v1.SchemaService/Register":                     "o",
		"/interlock.state.v1.SchemaService/Get":                          "aopvs",
		"/interlock.state.v1.SchemaService/List":                         "aopvs",
		"/interlock.state.v1.SchemaService/ListVersions":                 "aopvs",
		"/interlock.state.v1.StateService/Create":                        "ao",
		"/interlock.state.v1.StateService/Get":                           "aopvs",
		"/interlock.state.v1.StateService/List":                          "aopvs",
		"/interlock.state.v1.StateService/Update":                        "ao",
		"/interlock.state.v1.StateService/Migrate":                       "ao",
		"/interlock.state.v1.StateService/Delete":                        "ao",
		"/interlock.state.v1.StateService/History":                       "aopvs",
		"/interlock.state.v1.StateService/Lock":                          "ao",
		"/interlock.state.v1.StateService/Unlock":                        "ao",
		"/interlock.state.v1.StateService/Watch":                         "aopvs",
		"/interlock.state.v1.SessionService/Create":                      "ao",
		"/interlock.state.v1.SessionService/Get":                         "aopvs",
		"/interlock.state.v1.SessionService/List":                        "aopvs",
		"/interlock.state.v1.SessionService/Stop":                        "ao",
		"/interlock.state.v1.SessionService/Resume":                      "ao",
		"/interlock.state.v1.SessionService/Grant":                       "o",
		"/interlock.state.v1.TaskService/Lease":                          "o",
		"/interlock.state.v1.TaskService/Extend":                         "o",
		"/interlock.state.v1.TaskService/Ack":                            "o",
		"/interlock.state.v1.TaskService/Fail":                           "o",
		"/interlock.state.v1.TaskService/List":                           "opv",
		"/interlock.state.v1.ComponentService/Create":                    "o",
		"/interlock.state.v1.ComponentService/Get":                       "aopvs",
		"/interlock.state.v1.ComponentService/List":                      "aopvs",
		"/interlock.state.v1.ComponentService/Update":                    "o",
		"/interlock.state.v1.ComponentService/Delete":                    "o",
		"/interlock.state.v1.ComponentService/Begin":                     "ao",
		"/interlock.state.v1.ComponentService/Commit":                    "ao",
		"/interlock.state.v1.ComponentService/Read":                      "aopvs",
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
		"interlock.engine.v1.RunService/Start", "",
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
		"/interlock.approval.v1.ApprovalService/Create", "/interlock.approval.v1.ApprovalService/Decide",
		"/interlock.approval.v1.ApprovalService/Consume", "/interlock.approval.v1.ApprovalService/List",
		"/interlock.engine.v1.RunService/ForceState", "/interlock.engine.v1.RunService/Settle",
		"/interlock.policy.v1.PolicyService/Put", "/interlock.policy.v1.PolicyService/Attach",
		"/interlock.policy.v1.PolicyService/Detach", "/interlock.policy.v1.DecisionService/List",
		"/interlock.state.v1.SessionService/Grant",
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

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
	_ "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	_ "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
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
	rpcs["/envoy.service.auth.v3.Authorization/Check"] = true // Envoy's contract, which services/gateway links and tests
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
	// Letters: a(gent) o(perator) p (approver) v (observer) r(untime) s(ervice) y (relay). Written a
	// second time, so that rights do not change by a slip of the pen.
	want := map[string]string{
		"/interlock.engine.v1.WorkflowService/RegisterWorkflow":         "aor",
		"/interlock.engine.v1.WorkflowService/GetWorkflow":              "aopvrs",
		"/interlock.engine.v1.WorkflowService/ListWorkflows":            "aopvrs",
		"/interlock.engine.v1.WorkflowService/ValidateWorkflow":         "aopvrs",
		"/interlock.engine.v1.WorkflowService/PlanMigration":            "aopvrs",
		"/interlock.engine.v1.RunService/MigrateRun":                    "o",
		"/interlock.engine.v1.RunService/StartRun":                      "aor",
		"/interlock.engine.v1.RunService/GetRun":                        "aopvrs",
		"/interlock.engine.v1.RunService/ListRuns":                      "aopvrs",
		"/interlock.engine.v1.RunService/TransitionRun":                 "aor",
		"/interlock.engine.v1.RunService/BindBranch":                    "aor",
		"/interlock.peer.v1.RunPeerService/InterruptRun":                "aor",
		"/interlock.engine.v1.RunService/ForceState":                    "aor",
		"/interlock.engine.v1.RunService/PauseRun":                      "aor",
		"/interlock.engine.v1.RunService/ResumeRun":                     "aor",
		"/interlock.engine.v1.RunService/CancelRun":                     "aor",
		"/interlock.engine.v1.RunService/GetRunHistory":                 "aopvrs",
		"/interlock.engine.v1.RunService/WatchRun":                      "aopvrs",
		"/interlock.engine.v1.RunService/GetRunVersion":                 "aopvrs",
		"/interlock.peer.v1.RunPeerService/SettleApproval":              "os",
		"/interlock.engine.v1.ProcessService/RegisterProcess":           "aor",
		"/interlock.engine.v1.ProcessService/GetProcess":                "aopvrs",
		"/interlock.engine.v1.ProcessService/ListProcesses":             "aopvrs",
		"/interlock.engine.v1.ProcessService/StartProcess":              "aor",
		"/interlock.engine.v1.ProcessService/AnswerQuestion":            "aor",
		"/interlock.identity.v1.PersonService/CreatePerson":             "o",
		"/interlock.identity.v1.PersonService/GetPerson":                "opvs",
		"/interlock.identity.v1.PersonService/ListPeople":               "ops",
		"/interlock.identity.v1.PersonService/UpdatePerson":             "o",
		"/interlock.identity.v1.PersonService/DeletePerson":             "o",
		"/interlock.identity.v1.PersonService/InvitePerson":             "o",
		"/interlock.identity.v1.PersonService/AddCredential":            "opv",
		"/interlock.identity.v1.PersonService/RemoveCredential":         "opv",
		"/interlock.identity.v1.LoginService/BeginLogin":                "aopvrsy",
		"/interlock.identity.v1.LoginService/FinishLogin":               "aopvrsy",
		"/interlock.identity.v1.LoginService/GetInvitation":             "aopvrsy",
		"/interlock.identity.v1.LoginService/Register":                  "aopvrsy",
		"/interlock.identity.v1.LoginService/RenewLogin":                "opv",
		"/interlock.approval.v1.ApprovalService/CreateApproval":         "os",
		"/interlock.approval.v1.ApprovalService/GetApproval":            "aopvrsy",
		"/interlock.approval.v1.ApprovalService/ListApprovals":          "opvsy",
		"/interlock.approval.v1.ApprovalService/GetApprovalStats":       "opv",
		"/interlock.approval.v1.ApprovalService/DecideApproval":         "opy",
		"/interlock.approval.v1.ApprovalService/DecideApprovals":        "op",
		"/interlock.approval.v1.ApprovalService/GetApprovalStatement":   "op",
		"/interlock.approval.v1.ApprovalService/ListLeases":             "opvs",
		"/interlock.approval.v1.ApprovalService/RevokeLease":            "op",
		"/interlock.approval.v1.ApprovalService/CancelApproval":         "os",
		"/interlock.peer.v1.ApprovalPeerService/ConsumeApproval":        "os",
		"/interlock.peer.v1.ApprovalPeerService/VoidApproval":           "os",
		"/interlock.approval.v1.ApprovalService/WatchApproval":          "aopvrsy",
		"/interlock.approval.v1.ApprovalService/WatchApprovals":         "opvsy",
		"/interlock.policy.v1.PolicyService/RegisterPolicy":             "o",
		"/interlock.policy.v1.PolicyService/GetPolicy":                  "aopvrs",
		"/interlock.policy.v1.PolicyService/ListPolicies":               "opvs",
		"/interlock.policy.v1.PolicyService/PromotePolicy":              "o",
		"/interlock.policy.v1.PolicyService/DeletePolicy":               "o",
		"/interlock.policy.v1.PolicyService/AttachPolicy":               "o",
		"/interlock.policy.v1.PolicyService/DetachPolicy":               "o",
		"/interlock.policy.v1.PolicyService/ShadowWorkflow":             "o",
		"/interlock.policy.v1.PolicyService/GetPolicyUsage":             "aopvrs",
		"/interlock.policy.v1.PolicyService/SimulatePolicy":             "opv",
		"/interlock.policy.v1.PolicyService/AddException":               "o",
		"/interlock.policy.v1.PolicyService/ListExceptions":             "opv",
		"/interlock.policy.v1.PolicyService/ConfirmException":           "o",
		"/interlock.policy.v1.PolicyService/EndException":               "o",
		"/interlock.peer.v1.UpstreamPeerService/PinUpstreamTools":       "aors",
		"/interlock.policy.v1.BreakGlassService/CreateBreakGlassGrant":  "o",
		"/interlock.policy.v1.BreakGlassService/ListBreakGlassGrants":   "opv",
		"/interlock.policy.v1.BreakGlassService/GetBreakGlassGrant":     "o",
		"/interlock.policy.v1.BreakGlassService/ConfirmBreakGlassGrant": "o",
		"/interlock.policy.v1.BreakGlassService/RevokeBreakGlassGrant":  "o",
		"/interlock.policy.v1.BreakGlassService/HandInBreakGlass":       "aor",
		"/interlock.identity.v1.HaltService/CreateFreeze":               "o",
		"/interlock.identity.v1.HaltService/LiftFreeze":                 "o",
		"/interlock.identity.v1.HaltService/ListFreezes":                "opv",
		"/interlock.engine.v1.WorkflowService/PromoteWorkflow":          "o",
		"/interlock.engine.v1.WorkflowService/RetireWorkflow":           "o",
		"/interlock.engine.v1.WorkflowService/RestoreWorkflow":          "o",
		"/interlock.policy.v1.SetService/ApplySet":                      "o",
		"/interlock.policy.v1.SetService/GetSet":                        "opvs",
		"/interlock.policy.v1.SetService/ListSets":                      "opvs",
		"/interlock.engine.v1.ScheduleService/CreateSchedule":           "o",
		"/interlock.engine.v1.ScheduleService/GetSchedule":              "opvs",
		"/interlock.engine.v1.ScheduleService/ListSchedules":            "opvs",
		"/interlock.engine.v1.ScheduleService/UpdateSchedule":           "o",
		"/interlock.engine.v1.ScheduleService/PauseSchedule":            "o",
		"/interlock.engine.v1.ScheduleService/ResumeSchedule":           "o",
		"/interlock.engine.v1.ScheduleService/DeleteSchedule":           "o",
		"/interlock.engine.v1.ScheduleService/TriggerSchedule":          "o",
		"/interlock.engine.v1.ScheduleService/ListScheduleTimes":        "opvs",
		"/interlock.identity.v1.HaltService/CreateHalt":                 "o",
		"/interlock.identity.v1.HaltService/LiftHalt":                   "o",
		"/interlock.identity.v1.HaltService/ListHalts":                  "opv",
		"/interlock.identity.v1.NamespaceService/ListNamespaces":        "aopvrs",

		"/interlock.policy.v1.UpstreamService/ListUpstreamTools":          "opv",
		"/interlock.policy.v1.UpstreamService/AcceptUpstreamTools":        "o",
		"/interlock.policy.v1.UpstreamService/ForgetUpstreamTools":        "o",
		"/interlock.policy.v1.UpstreamService/DescribeUpstreamTools":      "opv",
		"/interlock.policy.v1.UpstreamService/AcceptUpstreamDescriptions": "o",
		"/interlock.policy.v1.DecisionService/ListDecisions":              "opv",
		"/interlock.policy.v1.DecisionService/GetDecision":                "opv",
		"/interlock.policy.v1.DecisionService/VerifyDecisions":            "opv",
		"/interlock.policy.v1.DecisionService/ListRefusals":               "opv",
		"/interlock.policy.v1.PolicyEnforcerService/CheckToolCall":        "aor",
		"/interlock.policy.v1.PolicyEnforcerService/CheckToolCalls":       "aor",
		"/interlock.policy.v1.PolicyEnforcerService/ReportToolCall":       "aor",
		"/interlock.policy.v1.PolicyEnforcerService/ReportCost":           "aor",
		"/interlock.policy.v1.PolicyEnforcerService/StartCommand":         "aor",
		"/interlock.policy.v1.PolicyEnforcerService/FinishCommand":        "aor",
		"/interlock.policy.v1.PolicyEnforcerService/WhoAmI":               "aopvrs",
		"/interlock.policy.v1.PolicyEnforcerService/ListOpenCalls":        "aopvrs",
		"/interlock.policy.v1.PolicyEnforcerService/SettleToolCall":       "op",
		"/interlock.policy.v1.PolicyEnforcerService/ReportRefusal":        "s",
		"/interlock.state.v1.SchemaService/RegisterSchema":                "o",
		"/interlock.state.v1.SchemaService/GetSchema":                     "aopvrs",
		"/interlock.state.v1.SchemaService/ListSchemas":                   "aopvrs",
		"/interlock.state.v1.SchemaService/ListSchemaVersions":            "aopvrs",
		"/interlock.state.v1.StateService/CreateState":                    "aor",
		"/interlock.state.v1.StateService/GetState":                       "aopvrs",
		"/interlock.state.v1.StateService/ListStates":                     "aopvrs",
		"/interlock.state.v1.StateService/UpdateState":                    "aor",
		"/interlock.state.v1.StateService/MigrateState":                   "aor",
		"/interlock.state.v1.StateService/DeleteState":                    "aor",
		"/interlock.state.v1.StateService/GetStateHistory":                "aopvrs",
		"/interlock.state.v1.StateService/LockState":                      "aor",
		"/interlock.state.v1.StateService/UnlockState":                    "aor",
		"/interlock.state.v1.StateService/WatchState":                     "aopvrs",
		"/interlock.state.v1.SessionService/CreateSession":                "aors",
		"/interlock.state.v1.SessionService/GetSession":                   "aopvrs",
		"/interlock.state.v1.SessionService/ListSessions":                 "aopvrs",
		"/interlock.state.v1.SessionService/StopSession":                  "aor",
		"/interlock.state.v1.SessionService/ResumeSession":                "aor",
		"/interlock.state.v1.SessionService/GetSessionResult":             "aopvrs",
		"/interlock.state.v1.SessionService/DeleteSession":                "o",
		"/interlock.state.v1.StateService/GetStateWriters":                "aopvrs",
		"/interlock.state.v1.SessionService/GrantStateAccess":             "o",
		"/interlock.state.v1.SessionService/NarrowSession":                "aor",
		"/interlock.state.v1.SessionService/MintSessionToken":             "aor",
		"/interlock.state.v1.SessionService/ListSessionTokens":            "aopvrs",
		"/interlock.state.v1.SessionService/RevokeSessionTokens":          "aor",
		"/interlock.state.v1.TaskService/ClaimTasks":                      "o",
		"/interlock.state.v1.TaskService/ExtendTask":                      "o",
		"/interlock.state.v1.TaskService/CompleteTask":                    "o",
		"/interlock.state.v1.TaskService/FailTask":                        "o",
		"/interlock.state.v1.TaskService/ListTasks":                       "opv",
		"/interlock.state.v1.AgentService/CreateAgent":                    "o",
		"/interlock.state.v1.AgentService/GetAgent":                       "aopvrs",
		"/interlock.state.v1.AgentService/ListAgents":                     "aopvrs",
		"/interlock.state.v1.AgentService/UpdateAgent":                    "o",
		"/interlock.state.v1.AgentService/DeleteAgent":                    "o",
		"/interlock.state.v1.ComponentService/CreateComponent":            "o",
		"/interlock.state.v1.ComponentService/GetComponent":               "aopvrs",
		"/interlock.state.v1.ComponentService/ListComponents":             "aopvrs",
		"/interlock.state.v1.ComponentService/UpdateComponent":            "o",
		"/interlock.state.v1.ComponentService/DeleteComponent":            "o",
		"/interlock.state.v1.ComponentService/BeginExecution":             "aor",
		"/interlock.state.v1.ComponentService/CommitExecution":            "aor",
		"/interlock.state.v1.ComponentService/GetComponentValues":         "aopvrs",
		"/grpc.health.v1.Health/Check":                                    "aopvrsy",
		"/grpc.health.v1.Health/List":                                     "aopvrsy",
		"/grpc.health.v1.Health/Watch":                                    "aopvrsy",
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":       "aopvrs",
		"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo":  "aopvrs",
		"/envoy.service.auth.v3.Authorization/Check":                      "aor",
	}
	for _, name := range auth.Methods() {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is missing here", name)
		}
		login := strings.HasPrefix(name, "/interlock.identity.v1.LoginService/") && !strings.HasSuffix(name, "/RenewLogin")
		if open := login || strings.HasPrefix(name, "/grpc.health."); auth.Open(name) != open {
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
		for i, role := range append(auth.Roles(), auth.Service, auth.Relay) {
			if auth.Allowed(name, role) {
				got += "aopvrsy"[i : i+1]
			}
		}
		if got != want {
			t.Errorf("%s is for %q, want %q", name, got, want)
		}
		for _, role := range []auth.Role{"", "Root", "Agent", "operator ", "Service"} {
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
		"/interlock.peer.v1.ApprovalPeerService/ConsumeApproval", "/interlock.approval.v1.ApprovalService/ListApprovals",
		"/interlock.peer.v1.RunPeerService/SettleApproval",
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

// S23.16: the RPCs that a read-only token calls are those whose names say that they read, and whose requests ask for nothing else.
func TestWhatReads(t *testing.T) {
	t.Parallel()
	for _, name := range auth.Methods() {
		verb := name[strings.LastIndexByte(name, '/')+1:]
		changes := regexp.MustCompile(`^(Decide|Create|Update|Delete|Register|Add|Remove|Invite|Accept|Forget|Attach|Detach|Promote|Put|Force|Trigger|Migrate|Start|Finish(Command)|Transition|` +
			`Pause|Resume|Cancel|Lift|Confirm|Revoke|End|Settle|Consume|Void|Interrupt|Grant|Narrow|Mint|Claim|Complete|Fail|Extend|Shadow|Report|Check|Lock|Unlock|Bind|Hand|Stop|Answer|Apply|Retire|Restore|Begin(Execution)|Commit|Pin)`).MatchString(verb)
		if changes == auth.Reads(name) && !auth.Open(name) && !strings.HasPrefix(name, "/grpc.") && verb != "GetBreakGlassGrant" {
			t.Errorf("%s: reads is %v", name, auth.Reads(name))
		}
	}
	for name, want := range map[string]bool{
		"/interlock.policy.v1.BreakGlassService/GetBreakGlassGrant": false, "/interlock.policy.v1.BreakGlassService/GetAnything": false,
		"/interlock.identity.v1.LoginService/RenewLogin": true, "/interlock.identity.v1.LoginService/FinishLogin": true,
	} {
		if auth.Reads(name) != want {
			t.Errorf("%s: reads is %v", name, !want)
		}
	}
}

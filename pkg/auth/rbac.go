package auth

import (
	"slices"
	"strings"
)

// The RPCs that each role may call. An RPC that is not in the table is denied to every
// role.
//
// The table is about RPCs only. Rights that depend on the object of the request are
// decided by the service, e.g. that an agent may not resume a run that an operator holds.

// grant is a set of roles.
type grant uint8

const (
	agent grant = 1 << iota
	operator
	approver
	observer
	service
	runtimes
	relay
	// nobody stands for a caller without credentials.
	nobody
)

const (
	people  = operator | approver | observer
	readers = agent | runtimes | people | service
	// internal marks RPCs between services, which operators use for repairs.
	internal = operator | service
	drivers  = agent | runtimes | operator
	anybody  = readers | relay | nobody
)

var table = map[string]grant{
	"/interlock.engine.v1.WorkflowService/RegisterWorkflow": drivers,
	"/interlock.engine.v1.WorkflowService/GetWorkflow":      readers,
	"/interlock.engine.v1.WorkflowService/ListWorkflows":    readers,
	"/interlock.engine.v1.WorkflowService/ValidateWorkflow": readers,
	"/interlock.engine.v1.WorkflowService/PlanMigration":    readers,
	"/interlock.engine.v1.WorkflowService/PromoteWorkflow":  operator,
	"/interlock.engine.v1.WorkflowService/RetireWorkflow":   operator,
	"/interlock.engine.v1.WorkflowService/RestoreWorkflow":  operator,

	"/interlock.engine.v1.RunService/StartRun":      drivers,
	"/interlock.engine.v1.RunService/GetRun":        readers,
	"/interlock.engine.v1.RunService/ListRuns":      readers,
	"/interlock.engine.v1.RunService/TransitionRun": drivers,
	"/interlock.engine.v1.RunService/BindBranch":    drivers,
	// The engine refuses an agent where meta.debug does not let agents force (S15.7).
	"/interlock.engine.v1.RunService/ForceState": drivers,
	"/interlock.engine.v1.RunService/MigrateRun": operator,
	// An agent that is held to a workflow cannot leave it.
	"/interlock.engine.v1.RunService/PauseRun":      drivers,
	"/interlock.engine.v1.RunService/ResumeRun":     drivers,
	"/interlock.engine.v1.RunService/CancelRun":     drivers,
	"/interlock.engine.v1.RunService/GetRunHistory": readers,
	"/interlock.engine.v1.RunService/GetRunVersion": readers,
	"/interlock.engine.v1.RunService/WatchRun":      readers,

	"/interlock.engine.v1.ProcessService/RegisterProcess": drivers,
	"/interlock.engine.v1.ProcessService/GetProcess":      readers,
	"/interlock.engine.v1.ProcessService/ListProcesses":   readers,
	"/interlock.engine.v1.ProcessService/StartProcess":    drivers,
	"/interlock.engine.v1.ProcessService/AnswerQuestion":  drivers,

	// A schedule starts runs as the operator who has put it.
	"/interlock.engine.v1.ScheduleService/CreateSchedule":    operator,
	"/interlock.engine.v1.ScheduleService/GetSchedule":       people | service,
	"/interlock.engine.v1.ScheduleService/ListSchedules":     people | service,
	"/interlock.engine.v1.ScheduleService/UpdateSchedule":    operator,
	"/interlock.engine.v1.ScheduleService/PauseSchedule":     operator,
	"/interlock.engine.v1.ScheduleService/ResumeSchedule":    operator,
	"/interlock.engine.v1.ScheduleService/DeleteSchedule":    operator,
	"/interlock.engine.v1.ScheduleService/TriggerSchedule":   operator,
	"/interlock.engine.v1.ScheduleService/ListScheduleTimes": people | service,

	// Agents learn that an approval is decided, and no more: their acts ask, and they
	// never decide. The service lets a relay decide only as a person that it may speak for.
	"/interlock.approval.v1.ApprovalService/CreateApproval":       internal,
	"/interlock.approval.v1.ApprovalService/GetApproval":          readers | relay,
	"/interlock.approval.v1.ApprovalService/ListApprovals":        people | relay | service,
	"/interlock.approval.v1.ApprovalService/GetApprovalStats":     people,
	"/interlock.approval.v1.ApprovalService/DecideApproval":       operator | approver | relay,
	"/interlock.approval.v1.ApprovalService/DecideApprovals":      operator | approver,
	"/interlock.approval.v1.ApprovalService/GetApprovalStatement": operator | approver,
	"/interlock.approval.v1.ApprovalService/ListLeases":           people | service,
	"/interlock.approval.v1.ApprovalService/RevokeLease":          operator | approver,
	"/interlock.approval.v1.ApprovalService/CancelApproval":       internal,
	"/interlock.approval.v1.ApprovalService/WatchApproval":        readers | relay,
	"/interlock.approval.v1.ApprovalService/WatchApprovals":       people | relay | service,

	// Only an operator accepts a change or a description.
	"/interlock.policy.v1.UpstreamService/ListUpstreamTools":          people,
	"/interlock.policy.v1.UpstreamService/AcceptUpstreamTools":        operator,
	"/interlock.policy.v1.UpstreamService/ForgetUpstreamTools":        operator,
	"/interlock.policy.v1.UpstreamService/DescribeUpstreamTools":      people,
	"/interlock.policy.v1.UpstreamService/AcceptUpstreamDescriptions": operator,

	// No agent may ask who stops work: agents see that they are halted by what they are denied.
	"/interlock.identity.v1.HaltService/CreateHalt": operator,
	"/interlock.identity.v1.HaltService/LiftHalt":   operator,
	"/interlock.identity.v1.HaltService/ListHalts":  people,
	// Agents see the freeze that their run is under.
	"/interlock.identity.v1.HaltService/CreateFreeze": operator,
	"/interlock.identity.v1.HaltService/LiftFreeze":   operator,
	"/interlock.identity.v1.HaltService/ListFreezes":  people,

	// Who may call in several namespaces learns their names; none learns of others.
	"/interlock.identity.v1.NamespaceService/ListNamespaces": readers,

	// Only operators see what a client needs to use a grant. The service takes a spool of the grant's principal and of operators.
	"/interlock.policy.v1.BreakGlassService/CreateBreakGlassGrant":  operator,
	"/interlock.policy.v1.BreakGlassService/ListBreakGlassGrants":   people,
	"/interlock.policy.v1.BreakGlassService/GetBreakGlassGrant":     operator,
	"/interlock.policy.v1.BreakGlassService/ConfirmBreakGlassGrant": operator,
	"/interlock.policy.v1.BreakGlassService/RevokeBreakGlassGrant":  operator,
	"/interlock.policy.v1.BreakGlassService/HandInBreakGlass":       drivers,

	"/interlock.policy.v1.PolicyService/RegisterPolicy":    operator,
	"/interlock.policy.v1.PolicyService/GetPolicy":         readers,
	"/interlock.policy.v1.PolicyService/ListPolicies":      people | service,
	"/interlock.policy.v1.PolicyService/PromotePolicy":     operator,
	"/interlock.policy.v1.PolicyService/DeletePolicy":      operator,
	"/interlock.policy.v1.PolicyService/AttachPolicy":      operator,
	"/interlock.policy.v1.PolicyService/DetachPolicy":      operator,
	"/interlock.policy.v1.PolicyService/ShadowWorkflow":    operator,
	"/interlock.policy.v1.PolicyService/GetPolicyUsage":    readers,
	"/interlock.policy.v1.PolicyService/SimulatePolicy":    people,
	"/interlock.policy.v1.PolicyService/AddException":      operator,
	"/interlock.policy.v1.PolicyService/ListExceptions":    people,
	"/interlock.policy.v1.PolicyService/ConfirmException":  operator,
	"/interlock.policy.v1.PolicyService/EndException":      operator,
	"/interlock.policy.v1.SetService/ApplySet":             operator,
	"/interlock.policy.v1.SetService/GetSet":               people | service,
	"/interlock.policy.v1.SetService/ListSets":             people | service,
	"/interlock.policy.v1.DecisionService/ListDecisions":   people,
	"/interlock.policy.v1.DecisionService/GetDecision":     people,
	"/interlock.policy.v1.DecisionService/VerifyDecisions": people,
	"/interlock.policy.v1.DecisionService/ListRefusals":    people,

	"/interlock.policy.v1.PolicyEnforcerService/CheckToolCall":  drivers,
	"/interlock.policy.v1.PolicyEnforcerService/CheckToolCalls": drivers,
	"/interlock.policy.v1.PolicyEnforcerService/ReportToolCall": drivers,
	"/interlock.policy.v1.PolicyEnforcerService/ReportCost":     drivers,
	"/interlock.policy.v1.PolicyEnforcerService/WhoAmI":         readers,
	// Only who vouches for reports starts a command, and only a key of the call finishes it.
	"/interlock.policy.v1.PolicyEnforcerService/StartCommand":  drivers,
	"/interlock.policy.v1.PolicyEnforcerService/FinishCommand": drivers,
	"/interlock.policy.v1.PolicyEnforcerService/ListOpenCalls": readers,
	// A gateway has no store to announce from. An agent must not make up refusals.
	"/interlock.policy.v1.PolicyEnforcerService/ReportRefusal": service,
	// An agent's own word on how its call ended does not settle it (S16.4).
	"/interlock.policy.v1.PolicyEnforcerService/SettleToolCall": operator | approver,

	// Schemas and components are set up before agents work, not by them.
	"/interlock.state.v1.SchemaService/RegisterSchema":     operator,
	"/interlock.state.v1.SchemaService/GetSchema":          readers,
	"/interlock.state.v1.SchemaService/ListSchemas":        readers,
	"/interlock.state.v1.SchemaService/ListSchemaVersions": readers,

	"/interlock.state.v1.StateService/CreateState":     drivers,
	"/interlock.state.v1.StateService/GetState":        readers,
	"/interlock.state.v1.StateService/ListStates":      readers,
	"/interlock.state.v1.StateService/UpdateState":     drivers,
	"/interlock.state.v1.StateService/MigrateState":    drivers,
	"/interlock.state.v1.StateService/DeleteState":     drivers,
	"/interlock.state.v1.StateService/GetStateHistory": readers,
	"/interlock.state.v1.StateService/GetStateWriters": readers,
	"/interlock.state.v1.StateService/LockState":       drivers,
	"/interlock.state.v1.StateService/UnlockState":     drivers,
	"/interlock.state.v1.StateService/WatchState":      readers,

	"/interlock.state.v1.SessionService/CreateSession":    drivers | service, // the engine creates those of schedules (S25.27)
	"/interlock.state.v1.SessionService/GetSession":       readers,
	"/interlock.state.v1.SessionService/ListSessions":     readers,
	"/interlock.state.v1.SessionService/StopSession":      drivers,
	"/interlock.state.v1.SessionService/ResumeSession":    drivers,
	"/interlock.state.v1.SessionService/GetSessionResult": readers,
	"/interlock.state.v1.SessionService/DeleteSession":    operator,
	"/interlock.state.v1.SessionService/GrantStateAccess": operator,
	// An agent bounds its own session and those below it; the state-store refuses others.
	"/interlock.state.v1.SessionService/NarrowSession":       drivers,
	"/interlock.state.v1.SessionService/MintSessionToken":    drivers,
	"/interlock.state.v1.SessionService/ListSessionTokens":   readers,
	"/interlock.state.v1.SessionService/RevokeSessionTokens": drivers,

	// A runner sees the states and prompts of all trees.
	"/interlock.state.v1.TaskService/ClaimTasks":   operator,
	"/interlock.state.v1.TaskService/ExtendTask":   operator,
	"/interlock.state.v1.TaskService/CompleteTask": operator,
	"/interlock.state.v1.TaskService/FailTask":     operator,
	"/interlock.state.v1.TaskService/ListTasks":    operator | approver | observer,

	"/interlock.state.v1.ComponentService/CreateComponent":    operator,
	"/interlock.state.v1.ComponentService/GetComponent":       readers,
	"/interlock.state.v1.ComponentService/ListComponents":     readers,
	"/interlock.state.v1.ComponentService/UpdateComponent":    operator,
	"/interlock.state.v1.ComponentService/DeleteComponent":    operator,
	"/interlock.state.v1.ComponentService/BeginExecution":     drivers,
	"/interlock.state.v1.ComponentService/CommitExecution":    drivers,
	"/interlock.state.v1.ComponentService/GetComponentValues": readers,

	// Agents and states are set up before sessions start.
	"/interlock.state.v1.AgentService/CreateAgent": operator,
	"/interlock.state.v1.AgentService/GetAgent":    readers,
	"/interlock.state.v1.AgentService/ListAgents":  readers,
	"/interlock.state.v1.AgentService/UpdateAgent": operator,
	"/interlock.state.v1.AgentService/DeleteAgent": operator,

	// A person may change their own keys; the service refuses all else to others than operators.
	"/interlock.identity.v1.PersonService/CreatePerson":     operator,
	"/interlock.identity.v1.PersonService/GetPerson":        people | service,
	"/interlock.identity.v1.PersonService/ListPeople":       operator | approver | service,
	"/interlock.identity.v1.PersonService/UpdatePerson":     operator,
	"/interlock.identity.v1.PersonService/DeletePerson":     operator,
	"/interlock.identity.v1.PersonService/InvitePerson":     operator,
	"/interlock.identity.v1.PersonService/AddCredential":    people,
	"/interlock.identity.v1.PersonService/RemoveCredential": people,
	// Who logs in has no token yet.
	"/interlock.identity.v1.LoginService/BeginLogin":    anybody,
	"/interlock.identity.v1.LoginService/FinishLogin":   anybody,
	"/interlock.identity.v1.LoginService/GetInvitation": anybody,
	"/interlock.identity.v1.LoginService/Register":      anybody,
	"/interlock.identity.v1.LoginService/RenewLogin":    people,

	// Contracts of the services among themselves. The enforcer interrupts with the caller's
	// credentials. The engine asks for the decision that allowed the call, so no caller
	// interrupts at will.
	"/interlock.peer.v1.RunPeerService/InterruptRun":         drivers,
	"/interlock.peer.v1.RunPeerService/SettleApproval":       internal,
	"/interlock.peer.v1.ApprovalPeerService/ConsumeApproval": internal,
	"/interlock.peer.v1.ApprovalPeerService/VoidApproval":    internal,
	// Gateways report the tools of servers, and so do programs that agents start.
	"/interlock.peer.v1.UpstreamPeerService/PinUpstreamTools": drivers | service,

	// Gateways that are not Interlock's ask for the agents behind them, as an agent would:
	// CheckToolCall judges their requests.
	"/envoy.service.auth.v3.Authorization/Check": drivers,

	// Probes of Kubernetes and load balancers have no credentials.
	"/grpc.health.v1.Health/Check": anybody,
	"/grpc.health.v1.Health/List":  anybody,
	"/grpc.health.v1.Health/Watch": anybody,

	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      readers,
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": readers,
}

// Allowed reports whether the role may call the RPC, named like
// "/interlock.engine.v1.RunService/StartRun".
func Allowed(fullMethod string, role Role) bool {
	return table[fullMethod]&grantOf(role) != 0
}

// Reads reports whether the RPC changes nothing, and so may be called with a read-only token. GetBreakGlassGrant is none of
// them: its answer lets a client make calls.
func Reads(fullMethod string) bool {
	const grants = "/interlock.policy.v1.BreakGlassService/GetBreakGlassGrant"
	name := fullMethod[strings.LastIndexByte(fullMethod, '/')+1:]
	switch {
	case !Known(fullMethod) || fullMethod == grants:
		return false
	case name == "WhoAmI" || name == "RenewLogin" || Open(fullMethod):
		return true
	}
	return slices.ContainsFunc([]string{"Get", "List", "Watch", "Validate", "Plan", "Simulate", "Verify", "Describe"}, func(verb string) bool {
		return strings.HasPrefix(name, verb)
	})
}

// Open reports whether the RPC needs no credentials.
func Open(fullMethod string) bool {
	return table[fullMethod]&nobody != 0
}

// Known reports whether the RPC is in the table.
func Known(fullMethod string) bool {
	_, ok := table[fullMethod]
	return ok
}

// Methods returns the full names of all RPCs in the table, in no order.
func Methods() []string {
	names := make([]string, 0, len(table))
	for name := range table {
		names = append(names, name)
	}
	return names
}

func grantOf(r Role) grant {
	switch r {
	case Agent:
		return agent
	case Operator:
		return operator
	case Approver:
		return approver
	case Observer:
		return observer
	case Service:
		return service
	case Runtime:
		return runtimes
	case Relay:
		return relay
	default:
		return 0
	}
}

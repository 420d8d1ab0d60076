package auth

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
	// nobody stands for a caller without credentials.
	nobody
)

const (
	people  = operator | approver | observer
	readers = agent | runtimes | people | service
	// internal marks RPCs between services, which operators use for repairs.
	internal = operator | service
	drivers  = agent | runtimes | operator
	anybody  = readers | nobody
)

var table = map[string]grant{
	"/interlock.engine.v1.WorkflowService/RegisterWorkflow": drivers,
	"/interlock.engine.v1.WorkflowService/GetWorkflow":      readers,
	"/interlock.engine.v1.WorkflowService/ListWorkflows":    readers,
	"/interlock.engine.v1.WorkflowService/ValidateWorkflow": readers,
	"/interlock.engine.v1.WorkflowService/PlanMigration":    readers,

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

	// Agents learn that an approval is decided, and no more: their acts ask, and they
	// never decide.
	"/interlock.approval.v1.ApprovalService/CreateApproval":  internal,
	"/interlock.approval.v1.ApprovalService/GetApproval":     readers,
	"/interlock.approval.v1.ApprovalService/ListApprovals":   people | service,
	"/interlock.approval.v1.ApprovalService/DecideApproval":  operator | approver,
	"/interlock.approval.v1.ApprovalService/DecideApprovals": operator | approver,
	"/interlock.approval.v1.ApprovalService/ListLeases":      people | service,
	"/interlock.approval.v1.ApprovalService/RevokeLease":     operator | approver,
	"/interlock.approval.v1.ApprovalService/CancelApproval":  internal,
	"/interlock.approval.v1.ApprovalService/WatchApproval":   readers,
	"/interlock.approval.v1.ApprovalService/WatchApprovals":  people | service,

	// Only an operator accepts a change or a description.
	"/interlock.policy.v1.UpstreamService/ListUpstreamTools":          people,
	"/interlock.policy.v1.UpstreamService/AcceptUpstreamTools":        operator,
	"/interlock.policy.v1.UpstreamService/ForgetUpstreamTools":        operator,
	"/interlock.policy.v1.UpstreamService/DescribeUpstreamTools":      people,
	"/interlock.policy.v1.UpstreamService/AcceptUpstreamDescriptions": operator,

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
	"/interlock.policy.v1.DecisionService/ListDecisions":   people,
	"/interlock.policy.v1.DecisionService/GetDecision":     people,
	"/interlock.policy.v1.DecisionService/VerifyDecisions": people,

	"/interlock.policy.v1.PolicyEnforcerService/CheckToolCall":  drivers,
	"/interlock.policy.v1.PolicyEnforcerService/CheckToolCalls": drivers,
	"/interlock.policy.v1.PolicyEnforcerService/ReportToolCall": drivers,
	"/interlock.policy.v1.PolicyEnforcerService/ReportCost":     drivers,
	// Only who observes starts a command, and only a key of the call finishes it.
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

	"/interlock.state.v1.SessionService/CreateSession":    drivers,
	"/interlock.state.v1.SessionService/GetSession":       readers,
	"/interlock.state.v1.SessionService/ListSessions":     readers,
	"/interlock.state.v1.SessionService/StopSession":      drivers,
	"/interlock.state.v1.SessionService/ResumeSession":    drivers,
	"/interlock.state.v1.SessionService/GetSessionResult": readers,
	"/interlock.state.v1.SessionService/DeleteSession":    operator,
	"/interlock.state.v1.SessionService/GrantStateAccess": operator,

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

	// Contracts of the services among themselves. The enforcer interrupts with the caller's
	// credentials. The engine asks for the decision that allowed the call, so no caller
	// interrupts at will.
	"/interlock.peer.v1.RunPeerService/InterruptRun":         drivers,
	"/interlock.peer.v1.RunPeerService/SettleApproval":       internal,
	"/interlock.peer.v1.ApprovalPeerService/ConsumeApproval": internal,
	"/interlock.peer.v1.ApprovalPeerService/VoidApproval":    internal,
	// Gateways observe tools, and so do programs that agents start.
	"/interlock.peer.v1.UpstreamPeerService/ObserveUpstreamTools": drivers | service,

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
	return table[fullMethod]&role.grant() != 0
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

func (r Role) grant() grant {
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
	default:
		return 0
	}
}

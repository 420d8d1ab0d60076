package auth

// Who may call what. An RPC that is not in the table is denied to everybody.
//
// The table is about RPCs only. What depends on the thing that is asked for, e.g.
// that an agent may not resume a run that an operator holds, is the service's to
// decide.

// grant is a set of roles.
type grant uint8

const (
	agent grant = 1 << iota
	operator
	approver
	observer
	service
	// nobody stands for a caller without credentials.
	nobody
)

const (
	people  = operator | approver | observer
	readers = agent | people | service
	// internal is what services ask of each other, and operators mend with.
	internal = operator | service
	drivers  = agent | operator
	anybody  = readers | nobody
)

var table = map[string]grant{
	"/interlock.engine.v1.WorkflowService/Register": drivers,
	"/interlock.engine.v1.WorkflowService/Get":      readers,
	"/interlock.engine.v1.WorkflowService/List":     readers,
	"/interlock.engine.v1.WorkflowService/Validate": readers,

	"/interlock.engine.v1.RunService/Start":      drivers,
	"/interlock.engine.v1.RunService/Get":        readers,
	"/interlock.engine.v1.RunService/List":       readers,
	"/interlock.engine.v1.RunService/Transition": drivers,
	"/interlock.engine.v1.RunService/BindBranch": drivers,
	// The enforcer calls it with the caller's credentials. The engine asks for the
	// decision that allowed the call, so nobody interrupts at will.
	"/interlock.engine.v1.RunService/Interrupt": drivers,
	// Whoever is held to a workflow does not step out of it.
	"/interlock.engine.v1.RunService/ForceState": operator,
	"/interlock.engine.v1.RunService/Pause":      drivers,
	"/interlock.engine.v1.RunService/Resume":     drivers,
	"/interlock.engine.v1.RunService/Cancel":     drivers,
	"/interlock.engine.v1.RunService/History":    readers,
	"/interlock.engine.v1.RunService/Watch":      readers,
	"/interlock.engine.v1.RunService/Settle":     internal,

	"/interlock.engine.v1.ProcessService/Register": drivers,
	"/interlock.engine.v1.ProcessService/Get":      readers,
	"/interlock.engine.v1.ProcessService/List":     readers,
	"/interlock.engine.v1.ProcessService/Start":    drivers,
	"/interlock.engine.v1.ProcessService/Answer":   drivers,

	// Agents learn that an approval is decided, and nothing more: they ask by what
	// they do, and never decide.
	"/interlock.approval.v1.ApprovalService/Create":  internal,
	"/interlock.approval.v1.ApprovalService/Get":     readers,
	"/interlock.approval.v1.ApprovalService/List":    people | service,
	"/interlock.approval.v1.ApprovalService/Decide":  operator | approver,
	"/interlock.approval.v1.ApprovalService/Cancel":  internal,
	"/interlock.approval.v1.ApprovalService/Consume": internal,
	"/interlock.approval.v1.ApprovalService/Void":    internal,
	"/interlock.approval.v1.ApprovalService/Wait":    readers,
	"/interlock.approval.v1.ApprovalService/Watch":   people | service,

	"/interlock.policy.v1.PolicyService/Put":            operator,
	"/interlock.policy.v1.PolicyService/Get":            readers,
	"/interlock.policy.v1.PolicyService/List":           people | service,
	"/interlock.policy.v1.PolicyService/Promote":        operator,
	"/interlock.policy.v1.PolicyService/Delete":         operator,
	"/interlock.policy.v1.PolicyService/Attach":         operator,
	"/interlock.policy.v1.PolicyService/Detach":         operator,
	"/interlock.policy.v1.PolicyService/ShadowWorkflow": operator,
	"/interlock.policy.v1.PolicyService/Usage":          readers,
	"/interlock.policy.v1.PolicyService/Simulate":       people,
	"/interlock.policy.v1.DecisionService/List":         people,
	"/interlock.policy.v1.DecisionService/Verify":       people,

	"/interlock.policy.v1.PolicyEnforcerService/CheckToolCall":  drivers,
	"/interlock.policy.v1.PolicyEnforcerService/CheckToolCalls": drivers,
	"/interlock.policy.v1.PolicyEnforcerService/ReportToolCall": drivers,

	// Schemas and components are set up before agents work, not by them.
	"/interlock.state.v1.SchemaService/Register":     operator,
	"/interlock.state.v1.SchemaService/Get":          readers,
	"/interlock.state.v1.SchemaService/List":         readers,
	"/interlock.state.v1.SchemaService/ListVersions": readers,

	"/interlock.state.v1.StateService/Create":  drivers,
	"/interlock.state.v1.StateService/Get":     readers,
	"/interlock.state.v1.StateService/List":    readers,
	"/interlock.state.v1.StateService/Update":  drivers,
	"/interlock.state.v1.StateService/Migrate": drivers,
	"/interlock.state.v1.StateService/Delete":  drivers,
	"/interlock.state.v1.StateService/History": readers,
	"/interlock.state.v1.StateService/Lock":    drivers,
	"/interlock.state.v1.StateService/Unlock":  drivers,
	"/interlock.state.v1.StateService/Watch":   readers,

	"/interlock.state.v1.SessionService/Create": drivers,
	"/interlock.state.v1.SessionService/Get":    readers,
	"/interlock.state.v1.SessionService/List":   readers,
	"/interlock.state.v1.SessionService/Stop":   drivers,
	"/interlock.state.v1.SessionService/Resume": drivers,
	"/interlock.state.v1.SessionService/Grant":  operator,

	// A runner sees the states and prompts of all trees.
	"/interlock.state.v1.TaskService/Lease":  operator,
	"/interlock.state.v1.TaskService/Extend": operator,
	"/interlock.state.v1.TaskService/Ack":    operator,
	"/interlock.state.v1.TaskService/Fail":   operator,
	"/interlock.state.v1.TaskService/List":   operator | approver | observer,

	"/interlock.state.v1.ComponentService/Create": operator,
	"/interlock.state.v1.ComponentService/Get":    readers,
	"/interlock.state.v1.ComponentService/List":   readers,
	"/interlock.state.v1.ComponentService/Update": operator,
	"/interlock.state.v1.ComponentService/Delete": operator,
	"/interlock.state.v1.ComponentService/Begin":  drivers,
	"/interlock.state.v1.ComponentService/Commit": drivers,
	"/interlock.state.v1.ComponentService/Read":   readers,

	// Probes of Kubernetes and load balancers have no credentials.
	"/grpc.health.v1.Health/Check": anybody,
	"/grpc.health.v1.Health/List":  anybody,
	"/grpc.health.v1.Health/Watch": anybody,

	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      readers,
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": readers,
}

// Allowed is true when the role may call the RPC, named like
// "/interlock.engine.v1.RunService/Start".
func Allowed(fullMethod string, role Role) bool {
	return table[fullMethod]&role.grant() != 0
}

// Open is true when the RPC needs no credentials.
func Open(fullMethod string) bool {
	return table[fullMethod]&nobody != 0
}

// Known is true when the RPC is in the table.
func Known(fullMethod string) bool {
	_, ok := table[fullMethod]
	return ok
}

// Methods are the full names of all RPCs in the table, in no order.
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
	default:
		return 0
	}
}

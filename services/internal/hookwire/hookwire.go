// Package hookwire names the paths and headers by which the hook's program and the gateway understand each other. It holds
// names only, because the hook starts before every tool call.
package hookwire

// Paths of the gateway that the programs of a machine post to.
const (
	// EventPath takes the event of an agent's hook.
	EventPath = "/v1/hook"
	// StartPath takes the claim of an allowed command line by its jail, and FinishPath the jail's witness of it.
	StartPath  = "/v1/hook/start"
	FinishPath = "/v1/hook/finish"
	// ProofPath is where a server proves that it knows a token.
	ProofPath = "/.well-known/interlock-proof"
)

// Headers of any request.
const (
	// NamespaceHeader names the namespace; the default one without it.
	NamespaceHeader = "X-Interlock-Namespace"
	// WitnessHeader has the token of the witness of a caller's reports (S14.4), as "Bearer TOKEN".
	WitnessHeader = "X-Interlock-Witness"
)

// Headers of an event.
const (
	// AgentHeader names the agent whose event this is.
	AgentHeader = "X-Interlock-Agent"
	// WorkflowHeader names the workflow that a session without a run is put on.
	WorkflowHeader = "X-Interlock-Workflow"
	// SessionHeader names the session to work on instead of the event's.
	SessionHeader = "X-Interlock-Session"
	// RefusedHeader has why the hook's program refuses calls of its client.
	RefusedHeader = "X-Interlock-Refused"
	// ObserveHeader is set where the hook records calls of sessions without a run.
	ObserveHeader = "X-Interlock-Observe"
	// PatienceHeader is how many seconds the hook waits for its answer.
	PatienceHeader = "X-Interlock-Patience"
	// JailHeader has the level of jails on the machine of the agent, JailMissingHeader the reason why it is not
	// higher, and JailCommandHeader the beginning of a line that runs another one in a jail.
	JailHeader        = "X-Interlock-Jail"
	JailMissingHeader = "X-Interlock-Jail-Missing"
	JailCommandHeader = "X-Interlock-Jail-Command"
)

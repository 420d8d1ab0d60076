// Package stage is the inner part of a jail: a process that closes the jail around itself, and starts
// the command in it.
//
// It imports little, because a program that is a stage has nothing else to initialise.
package stage

// Name is the argv[0] by which a program knows that it is a stage.
const Name = "interlock-jail"

// The descriptors that a stage inherits.
const (
	orderFD   = 3
	controlFD = 4
	noteFD    = 5
	// wallFD is the ruleset below level 3.
	wallFD = 6
)

// Order is what a stage has to do. Its paths are absolute and resolved, and exist.
type Order struct {
	Argv, Env []string
	Dir       string
	// Namespaces is true at level 3.
	Namespaces bool
	// Root is true where the user's whole range of ids is mapped.
	Root bool
	// Probe tries the parts of a jail, and runs nothing.
	Probe bool

	// Home is a folder whose changes are discarded; empty for none.
	Home      string
	Workspace string
	// Discard and Deny say what happens to writes into the workspace.
	Discard, Deny bool
	Write         []string
	Caches        []Cache
	// Copies is the folder in which Caches keep their changes; Tmp and VarTmp are those that become /tmp
	// and /var/tmp. Empty for throw-away ones.
	Copies, Tmp, VarTmp string
	Protect             []string
	Hide                []string
	// Keep are paths that stay readable where a folder around them is replaced.
	Keep []string

	// Closed is true where the network is closed, Proxy where only the proxy is open.
	Closed, Proxy bool

	// Landlock is the version of Landlock to stay at; 0 for the kernel's, and -1 for none.
	Landlock int

	// Note is true where the stage inherits a descriptor that is the command's.
	Note       bool
	Background bool
	// Nest lets the command make namespaces and mounts of its own: the kernel keeps those of this
	// jail locked in them. Root cannot: it could write settings of the machine in /proc.
	Nest       bool
	Processes  int
	MemoryMB   int64
	CPUSeconds int64
	ScratchMB  int64
}

// Cache is a folder of which the command changes some folders in a copy.
type Cache struct {
	// Base is the folder that is copied, Paths are those of it that the command sees in the copy. One that
	// is not there is made.
	Base  string
	Paths []string
	// Name is the copy's folder in Copies; empty throws the changes away.
	Name string
}

// Message is a report of a stage to its parent.
type Message struct {
	// Failed says why the command was not started.
	Failed string
	// Listening is true when the message carries the proxy's listening socket.
	Listening bool
	Started   bool
	// Notes are parts of the order that were held by something stricter.
	Notes []string
	// Tried are files whose change is discarded.
	Tried []string
	More  bool
	// Exited carries the command's status as of wait4.
	Exited bool
	Status int
	// Left are the names of programs that ran when the command had ended, and were ended.
	Left []string
	// Probed is true in the answer of a probe, Lacks the parts that do not work, each with its reason.
	Probed bool
	Lacks  []string
}

// NotBuilt begins the sentence of a stage that could not make its mounts.
const NotBuilt = "the jail cannot be built"

// KillAll is the signal at which a stage ends all that it has started.
const KillAll = 255

// nests reports that the command may make jails of its own.
func (o *Order) nests() bool { return o.Nest && o.Namespaces && !o.Root }

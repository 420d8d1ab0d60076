package jail

// Machine is what a profile needs to know of the machine that enforces it. Paths are absolute and
// resolved.
type Machine struct {
	// Home is the folder of the user who runs the command.
	Home string
	// DataFolder and ConfigFolder are Interlock's own; empty for none. They are never readable.
	DataFolder, ConfigFolder string
	// Program is Interlock's binary, which stays executable.
	Program string
	// RuntimeDir is the user's XDG_RUNTIME_DIR; empty for none.
	RuntimeDir string
}

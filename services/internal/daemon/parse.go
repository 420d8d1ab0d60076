package daemon

import (
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"
)

// Parse reads the command line of a service into its flags, and ends the process
// with 2 when it cannot. grpc is the default of --grpc.
func Parse(flags any, name, about, grpc string) {
	if code, done := parseArgs(flags, name, about, grpc, os.Args[1:], os.Stdout, os.Stderr); done {
		os.Exit(code)
	}
}

// parseArgs returns done, and an exit code, when there is nothing to run.
func parseArgs(flags any, name, about, grpc string, args []string, out, errs io.Writer) (code int, done bool) {
	parser, err := kong.New(flags, kong.Name(name), kong.Description(about), kong.Vars{"grpc": grpc},
		kong.Writers(out, errs), kong.Exit(func(c int) { code, done = c, true }))
	if err == nil {
		_, err = parser.Parse(args)
	}
	if done { // --help
		return code, done
	}
	if err != nil {
		fmt.Fprintf(errs, "%s: %v; see %s --help\n", name, err, name)
		return 2, true
	}
	return 0, false
}

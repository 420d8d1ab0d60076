package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/interlock-run/interlock/services/internal/configfile"
)

// Program is a service's program: its name, its purpose in a sentence, and the default of
// its --grpc.
type Program struct{ Name, About, GRPC string }

// Parser makes the parser of the program's command line.
func (p Program) Parser(flags any, options ...kong.Option) (*kong.Kong, error) {
	return kong.New(flags, append([]kong.Option{kong.Name(p.Name), kong.Description(p.About), kong.Vars{"grpc": p.GRPC}, configfile.Durations()}, options...)...)
}

// CommandLine is how a program was started, to read its file again.
type CommandLine struct {
	Program Program
	Again   Again
}

// Again parses a command line anew, with its file, and returns the flags by their names.
type Again func() (map[string]string, error)

// Parse reads the command line of a service into its flags, and ends the process
// with 2 when it cannot.
func Parse(flags any, program Program) CommandLine {
	if code, done := parseArgs(flags, program, os.Args[1:], os.Stdout, os.Stderr); done {
		os.Exit(code)
	}
	return CommandLine{program, func() (map[string]string, error) {
		again := reflect.New(reflect.TypeOf(flags).Elem()).Interface()
		options, err := FromFile(os.Args[1:])
		if err != nil {
			return nil, err
		}
		parser, err := program.Parser(again, options...)
		if err != nil {
			return nil, err
		}
		command, err := parser.Parse(os.Args[1:])
		if err != nil {
			return nil, err
		}
		return Values(command), nil
	}}
}

// parseArgs returns done, and an exit code, when there is no service to run.
func parseArgs(flags any, program Program, args []string, out, errs io.Writer) (code int, done bool) {
	options, err := FromFile(args)
	if err == nil {
		options = append(options, kong.Writers(out, errs), kong.Exit(func(c int) { code, done = c, true }))
		var parser *kong.Kong
		if parser, err = program.Parser(flags, options...); err == nil {
			_, err = parser.Parse(args)
		}
	}
	if done { // --help
		return code, done
	}
	if err != nil {
		fmt.Fprintf(errs, "%s: %v; see %s --help\n", program.Name, err, program.Name)
		return 2, true
	}
	return 0, false
}

// FromFile returns the options of a parser that also reads the file of --config, where a
// command line or the environment names one.
func FromFile(args []string) ([]kong.Option, error) {
	name := configfile.Named(args, os.Getenv)
	if name == "" {
		return nil, nil
	}
	file, err := configfile.Read(name)
	if err != nil {
		return nil, err
	}
	return file.Options(), nil
}

// Values returns the flags of a parsed command line, by their names.
func Values(command *kong.Context) map[string]string {
	values := map[string]string{}
	for _, flag := range command.Flags() {
		values[flag.Name] = fmt.Sprint(flag.Target.Interface())
	}
	return values
}

// FollowFile reads the file of --config again at each SIGHUP until ctx ends. The level of
// the log changes at once; of other flags it says that they need a restart. Files that flags
// name, of tokens and certificates, are read again without this.
func FollowFile(ctx context.Context, log *slog.Logger, again Again) {
	before, err := again()
	if err != nil {
		log.Error("the file of --config cannot be followed", "error", err)
		return
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}
		now, err := again()
		if err != nil {
			log.Error("the file of --config has a mistake; the previous settings stay in use", "error", err)
			continue
		}
		before = apply(log, before, now)
	}
}

// apply returns the variables in use then.
func apply(log *slog.Logger, before, now map[string]string) map[string]string {
	used := maps.Clone(before)
	var changed, restart []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		switch {
		case now[name] == before[name]:
		case name == "log-level" && setLevel(now[name]) == nil:
			used[name] = now[name]
			changed = append(changed, name)
		default:
			restart = append(restart, name)
		}
	}
	if len(restart) > 0 {
		log.Warn("the file of --config was read again; some flags need a restart", "changed", changed, "need_restart", restart)
		return used
	}
	log.Info("the file of --config was read again", "changed", changed)
	return used
}

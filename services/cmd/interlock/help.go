package main

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// spoken are flags that stand on the command line only: help, and skipped questions, are not
// for a variable that was set long ago.
var spoken = map[string]bool{"help": true, "yes": true, "as": true}

// variables gives each flag an environment variable. One that is the same for all commands
// has its own name, such as INTERLOCK_SERVER; any other is named after its command.
func variables(parser *kong.Kong) error {
	return kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if command, ok := node.(*kong.Command); ok {
			for _, flag := range command.Flags {
				own := len(flag.Envs) > 0 || flag.Hidden || spoken[flag.Name] || command.Name == "hook" // which reads its own early
				switch {
				case flag.PlaceHolder != "":
				case flag.Enum != "":
					flag.PlaceHolder = strings.ToUpper(flag.Name)
				case !flag.HasDefault:
					flag.PlaceHolder = kindOf(flag.Target)
				}
				if !own {
					flag.Tag.Envs = []string{variable(pathOf(command) + " " + flag.Name)}
					flag.Envs = flag.Tag.Envs
				}
			}
		}
		return next(nil)
	})
}

// kindOf returns the placeholder of a flag for a number or a duration.
func kindOf(target reflect.Value) string {
	switch {
	case target.Type() == reflect.TypeFor[time.Duration]():
		return "DURATION"
	case target.CanInt(), target.CanUint(), target.CanFloat():
		return "N"
	default:
		return ""
	}
}

// pathOf returns how a command is called, without the program.
func pathOf(node *kong.Node) string {
	if node == nil || node.Type == kong.ApplicationNode {
		return ""
	}
	return strings.TrimSpace(pathOf(node.Parent) + " " + node.Name)
}

// dropEmpty removes our variables that are empty from the environment: they count as not set.
func dropEmpty() {
	for _, variable := range os.Environ() {
		if name, value, _ := strings.Cut(variable, "="); value == "" && strings.HasPrefix(name, "INTERLOCK_") {
			_ = os.Unsetenv(name) // it is there
		}
	}
}

// variable returns the variable of a flag of a command, such as INTERLOCK_RUN_LIST_LIMIT.
func variable(path string) string {
	return "INTERLOCK_" + strings.ToUpper(strings.NewReplacer(" ", "_", "-", "_").Replace(path))
}

// describe returns a flag's help with its choices, its default and its variables.
func describe(value *kong.Value) string {
	var facts []string
	if words := strings.Split(strings.TrimSuffix(value.Enum, ","), ","); value.Flag != nil && value.Enum != "" {
		if slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(value.Help, word) }) { // the text does not list them
			facts = append(facts, strings.Join(words, ", "))
		}
	}
	if value.HasDefault && value.Default != "" && !value.IsBool() {
		facts = append(facts, "default "+value.Default)
	}
	if value.Tag.Get("env") != "" { // others are named after the command, as help says
		for _, name := range value.Tag.Envs {
			facts = append(facts, "$"+name)
		}
	}
	if len(facts) == 0 {
		return value.Help
	}
	return strings.TrimSuffix(value.Help, ".") + " (" + strings.Join(facts, "; ") + ")."
}

// help prints the parser's knowledge of a command, and examples of it.
func help(options kong.HelpOptions, ctx *kong.Context) error {
	if ctx.Selected() == nil {
		for _, node := range ctx.Model.Children {
			node.Group = section(node.Name)
		}
	}
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	path := ""
	if selected := ctx.Selected(); selected != nil {
		path = pathOf(selected)
		for _, flag := range selected.Flags {
			if len(flag.Envs) > 0 && flag.Tag.Get("env") == "" && !flag.Hidden {
				fmt.Fprintf(ctx.Stdout, "\nVariables set flags, too: $%s sets --%s.\n", flag.Envs[0], flag.Name)
				break
			}
		}
	}
	if lines := examples()[path]; len(lines) > 0 {
		fmt.Fprintf(ctx.Stdout, "\nExamples:\n  %s\n", strings.Join(lines, "\n  "))
	}
	return nil
}

// starters are other names of the command that starts a server.
var starters = []string{"start", "serve", "server", "daemon"}

// reworded returns an error of the parser as a user reads it: how a flag of before is written
// now, and further hints on a mistake. command is the understood part, such as "run list ".
func reworded(message, command string) string {
	argument, unexpected := strings.CutPrefix(message, "unexpected argument ")
	argument, _, _ = strings.Cut(argument, ",")
	switch {
	case strings.HasPrefix(message, "unknown flag --format"):
		return "--format is -o table, json, yaml or jsonl now, and stands for a file format in validate, test and viz only"
	case strings.HasPrefix(message, "unknown flag --data,") || message == "unknown flag --data":
		return "--data is --data-dir now for a folder, and --input for JSON"
	case unexpected && command == "" && slices.Contains(starters, argument):
		return "unexpected argument " + argument + ", did you mean \"up\"?"
	case unexpected && command == "check ":
		return message + ": write the name of the tool, and --run RUN"
	case strings.HasSuffix(message, `value but got "EOL" (<EOL>)`):
		flag, _, _ := strings.Cut(message, ":")
		return flag + " needs a value"
	default:
		return strings.Replace(message, `,"" but got`, " but got", 1) // the choice of a flag that is left out
	}
}

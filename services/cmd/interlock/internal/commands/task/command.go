// Package task shows the tasks of runners.
package task

// Command is the family of commands on tasks.
type Command struct {
	List listCommand `cmd:"" help:"List the tasks that runners have or wait for."`
}

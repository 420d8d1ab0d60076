// Package component defines state components, and uses their values.
package component

// Command is the family of commands on state components.
type Command struct {
	Create createCommand `cmd:"" help:"Create a component."`
	Update updateCommand `cmd:"" help:"Replace the definition of a component."`
	List   listCommand   `cmd:"" help:"List components."`
	Get    getCommand    `cmd:"" help:"Show a component."`
	Delete deleteCommand `cmd:"" help:"Delete a component."`
	Values valuesCommand `cmd:"" help:"Show the values that the next execution would start with."`
	Begin  beginCommand  `cmd:"" help:"Begin an execution, and show the values that it starts with."`
	Commit commitCommand `cmd:"" help:"End an execution, and keep its values as long as the component says."`
}

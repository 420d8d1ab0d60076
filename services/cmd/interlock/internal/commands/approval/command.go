// Package approval shows questions to humans, and takes their decisions.
package approval

// Command is the family of commands on approvals.
type Command struct {
	List    listCommand    `cmd:"" help:"List approvals."`
	Get     getCommand     `cmd:"" aliases:"show" help:"Show the exact request, who asks, and the last changes of the run."`
	Approve approveCommand `cmd:"" set:"caller=approver" help:"Approve. The requester cannot."`
	Reject  rejectCommand  `cmd:"" set:"caller=approver" help:"Reject."`
	Stats   statsCommand   `cmd:"" help:"Count the questions that people are asked, and how they answer."`
	Wait    waitCommand    `cmd:"" help:"Wait for the decision; exit code 0 when it is granted, 1 when it is not, 3 when it is not decided in time."`
}

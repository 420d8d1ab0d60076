// Package approval shows humans what is asked for, and takes what they decide.
package approval

// Command is the family of commands on approvals.
type Command struct {
	List    listCommand    `cmd:"" help:"List approvals."`
	Get     getCommand     `cmd:"" aliases:"show" help:"Show exactly what is asked for, who asks, and what the run did before."`
	Approve approveCommand `cmd:"" set:"caller=approver" help:"Approve. The requester cannot."`
	Reject  rejectCommand  `cmd:"" set:"caller=approver" help:"Reject."`
	Wait    waitCommand    `cmd:"" help:"Wait for the decision; exit code 0 when it is granted, 1 when it is not, 3 when nobody has decided in time."`
}

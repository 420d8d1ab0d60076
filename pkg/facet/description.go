package facet

// Description says which arguments of a tool have which meaning (meta.tools). Each text is a JSON Pointer
// into the input, in which * stands for every element of a list. A list that is nil is not described, so its
// facets are not known; a list that is empty says that the tool has none of them.
type Description struct {
	// Reads and Writes point to names of files or folders that the tool reads or changes.
	Reads, Writes []string
	// URLs point to URLs that the tool fetches, Hosts to names of hosts or addresses without a scheme, Method
	// to the method of the request.
	URLs, Hosts []string
	Method      string
	// Command points to a command line for bash.
	Command string
	// SQL points to a text of SQL.
	SQL *SQLText
	// Money points to an amount.
	Money *Amount
	// Recipients and Senders point to addresses of mail.
	Recipients, Senders []string
	// Git and K8s point to values of parts of those facets, by the name of the part: {"refs": "/branch"}.
	Git, K8s map[string]string
	// Closed is true for a tool whose arguments are all described: another member puts every facet in doubt.
	Closed bool
}

// SQLText describes an argument that is SQL.
type SQLText struct {
	Text string
	// Dialect is one of sqlscan's, or empty where it is not known.
	Dialect string
}

// Amount describes an argument that is money.
type Amount struct {
	// Amount points to the number, Currency to its ISO 4217 code.
	Amount, Currency string
	// Minor is true for an amount in the minor unit, such as cents.
	Minor bool
	// Negative is true for a tool that takes amounts below 0.
	Negative bool
}

package backup

// For tests.
var (
	AppendItem = appendItem
	ReadItem   = readItem
)

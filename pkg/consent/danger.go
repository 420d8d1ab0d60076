package consent

import "slices"

// Danger is how much harm a wrong approval does. The empty one is Medium.
type Danger string

// The dangers.
const (
	Low    Danger = "low"
	Medium Danger = "medium"
	High   Danger = "high"
)

// Dangers returns the dangers, the lowest first.
func Dangers() []Danger { return []Danger{Low, Medium, High} }

// Above reports that a danger is higher than another. An unknown one is higher than any other.
func (d Danger) Above(other Danger) bool { return d.rank() > other.rank() }

func (d Danger) rank() int {
	if d == "" {
		d = Medium
	}
	at := slices.Index(Dangers(), d)
	if at < 0 {
		return len(Dangers())
	}
	return at
}

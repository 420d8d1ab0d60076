package jail

import (
	"fmt"
	"strings"
)

// Sentence says what a machine with jails of a level holds of the commands of agents, and what is missing for the next
// level.
func Sentence(level Level, missing string) string {
	missing = strings.TrimSuffix(missing, ".")
	switch {
	case level <= None:
		return fmt.Sprintf("Commands run without a jail (%s): programs are judged by their names alone.", missing)
	case level == Files:
		return fmt.Sprintf("Commands run in jails of level 1, which hold files, but not signals and the network (%s).", missing)
	case level == Scoped:
		return fmt.Sprintf("Commands run in jails of level 2, which hold files, signals and ports, but neither hide processes nor choose hosts (%s).", missing)
	default:
		return "Commands run in jails of level 3, which hold files, signals, processes and the network."
	}
}

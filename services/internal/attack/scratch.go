package attack

import (
	"fmt"
	"os"
)

// memory is where files are kept in memory on Linux. The data of a schedule is thrown away, and
// need not survive the machine: the services are killed, and their files are not.
const memory = "/dev/shm"

// Scratch makes a folder for stores, in memory where that is possible. The caller removes it.
func Scratch() (string, error) {
	if dir, err := os.MkdirTemp(memory, "interlock-attack-"); err == nil {
		return dir, nil
	}
	dir, err := os.MkdirTemp("", "interlock-attack-")
	if err != nil {
		return "", fmt.Errorf("make a folder for the attack: %w", err)
	}
	return dir, nil
}

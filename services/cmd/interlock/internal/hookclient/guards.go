package hookclient

import (
	"fmt"
	"os"
	"path"
	"strings"
)

// Restorer restores the files that a jail would have restored at its end, where it was
// killed before.
type Restorer interface {
	// Restore returns a notice; empty for none.
	Restore(folder string) string
}

// Guards returns the folder of files that jails are to restore while their commands run.
func (c *Client) Guards() (string, error) {
	folder, err := c.Kept()
	if err != nil {
		return "", err
	}
	return path.Join(folder, "guards"), nil
}

// putBack restores the files that killed jails have left. It returns a notice; empty for none.
func (c *Client) putBack() string {
	restorer, can := c.Jail.(Restorer)
	folder, err := c.Guards()
	if err != nil || !can {
		return ""
	}
	entries, _ := os.ReadDir(folder) // no folder has no files
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".json") && !busy(path.Join(folder, name)) {
			return restorer.Restore(folder)
		}
	}
	return ""
}

// Restored returns the notice of files that were put back.
func Restored(changed []string, err error) string {
	switch {
	case err != nil:
		return fmt.Sprintf("Interlock could not restore protected files that a command had changed: %v", err)
	case len(changed) > 0:
		return "A command was killed in its jail. These protected files are put back as they were: " + strings.Join(changed, ", ")
	default:
		return ""
	}
}

// Restore implements Restorer.
func (Self) Restore(folder string) string {
	out, err := run("jail", "put-back", folder)
	if err != nil {
		return Restored(nil, err)
	}
	return strings.TrimSpace(string(out))
}

package stage

import (
	"os"
	"strconv"
	"syscall"
)

const (
	mostTried   = 256
	messageRoom = 8 << 10 // bytes of names in one message
	mostVisited = 200_000
)

// trail collects the files whose change is discarded.
type trail struct {
	s       *stage
	message Message
	size    int
	count   int
	visited int
	err     error
}

// tried reports the files whose change is discarded: those that the upper folders of overlays hold, and
// those that they mark as removed. Names are relative to the workspace, and absolute elsewhere.
func (s *stage) tried() error {
	if err := syscall.Fchdir(s.view.fd); err != nil {
		return err
	}
	t := &trail{s: s}
	for _, upper := range s.view.uppers {
		t.walk(upper.folder, upper.at, "/proc/self/fd/"+strconv.Itoa(upper.lower))
	}
	t.flush()
	return t.err
}

// walk collects the files of one folder, which the command sees by another name.
func (t *trail) walk(folder, shown, lower string) {
	if t.err != nil || t.message.More {
		return
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return // a folder that the command has closed for itself
	}
	for _, entry := range entries {
		path, name := join(folder, entry.Name()), entry.Name()
		if shown != "" {
			name = join(shown, name)
		}
		if t.visited++; t.visited > mostVisited {
			t.message.More = true
			return
		}
		covers := join(lower, entry.Name())
		if !entry.IsDir() || replacedFolder(path, covers) {
			t.add(name)
		}
		if entry.IsDir() && !t.s.isCache(name) {
			t.walk(path, name, covers)
		}
	}
}

func (t *trail) add(name string) {
	if t.count == mostTried {
		t.message.More = true
		return
	}
	t.count++
	t.message.Tried = append(t.message.Tried, name)
	if t.size += len(name); t.size > messageRoom {
		t.flush()
	}
}

func (t *trail) flush() {
	if t.err == nil && (len(t.message.Tried) > 0 || t.message.More) {
		t.err = t.s.send(&t.message, -1)
	}
	t.message.Tried, t.size = nil, 0
}

// isCache reports that a path is one whose changes are no news.
func (s *stage) isCache(path string) bool {
	for _, cache := range s.order.Caches {
		for _, at := range cache.Paths {
			if path == at {
				return true
			}
		}
	}
	return false
}

// replacedFolder reports that a folder has replaced one whose files are gone.
func replacedFolder(path, lower string) bool {
	if _, err := os.Lstat(lower); err != nil {
		return false
	}
	value := make([]byte, 1)
	n, err := syscall.Getxattr(path, "user.overlay.opaque", value)
	return err == nil && n == 1 && value[0] == 'y'
}

// ProxyEnvironment returns env with the variables that send programs to a proxy on this machine.
func ProxyEnvironment(env []string, port int) []string {
	address := "http://127.0.0.1:" + strconv.Itoa(port)
	set := []string{
		"http_proxy", address, "https_proxy", address, "all_proxy", address, "HTTP_PROXY", address, "HTTPS_PROXY", address, "ALL_PROXY", address,
		"no_proxy", "localhost,127.0.0.1,::1", "NO_PROXY", "localhost,127.0.0.1,::1",
	}
	return Setenv(env, set...)
}

// Setenv returns env with variables set; pairs are names and values.
func Setenv(env []string, pairs ...string) []string {
	var result []string
	for _, variable := range env {
		name, _, _ := cut(variable, '=')
		kept := true
		for i := 0; i < len(pairs); i += 2 {
			kept = kept && pairs[i] != name
		}
		if kept {
			result = append(result, variable)
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		result = append(result, pairs[i]+"="+pairs[i+1])
	}
	return result
}

package hookclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/shellwords"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/hookevent"
	"github.com/interlock-run/interlock/services/internal/hookwire"
)

// Support describes the jails of a machine: their level, and the reason why it is not higher.
type Support struct {
	Level   int    `json:"level"`
	Missing string `json:"missing,omitempty"`
}

// Prober finds that out. It takes longer than a hook may.
type Prober interface{ Probe() (Support, error) }

// remembered is the result of a probe, and its scope: a start of the machine, and a program.
type remembered struct {
	Boot    string `json:"boot"`
	Program string `json:"program"`
	Support
}

// Support returns the result since the machine was started, or probes. A failed probe is no jail.
func (c *Client) Support() Support {
	if c.Jail == nil {
		return Support{Missing: "this program cannot start one"}
	}
	key := remembered{Boot: boot(), Program: program()}
	file := c.supportFile()
	if text, err := os.ReadFile(file); err == nil && key.Boot != "" {
		var known remembered
		if json.Unmarshal(text, &known) == nil && known.Boot == key.Boot && known.Program == key.Program && known.Level >= 0 && known.Level <= 3 {
			return known.Support
		}
	}
	found, err := c.Jail.Probe()
	if err != nil {
		return Support{Missing: err.Error()}
	}
	key.Support = found
	if text, err := json.Marshal(key); err == nil && file != "" {
		_ = replaceFile(file, text) // it is found out again otherwise
	}
	return found
}

// Forget has the next call find out again: the result does not hold any more.
func (c *Client) Forget() { _ = os.Remove(c.supportFile()) }

func (c *Client) supportFile() string {
	folder, err := c.Kept()
	if err != nil {
		return ""
	}
	return path.Join(folder, "jail-support.json")
}

// boot returns the id of this start of the machine; empty where the system has none.
func boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id)) + "/" + strconv.Itoa(os.Getuid())
}

// program identifies this program: its path, and when it was written.
func program() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano())
}

// Kept returns the folder of this program's files for a server: the data folder, or one in the user's folder of
// state for servers elsewhere. Agents cannot write to either.
func (c *Client) Kept() (string, error) {
	if c.Server == "" && c.Data != "" {
		folder, err := c.folder()
		return string(folder), err
	}
	root, err := datadir.Root()
	if err != nil {
		return "", err
	}
	return path.Join(string(root), "server-"+datadir.Digest(c.Server + " " + c.Namespace)[:12]), nil
}

// jailHeaders describes the jail for commands of this agent. Without a token that vouches, no witness of it would count.
func (c *Client) jailHeaders() [][2]string {
	if c.Jail == nil {
		return nil
	}
	has := c.Support()
	self, err := os.Executable()
	switch {
	case has.Level == 0:
	case err != nil || c.Token != "" && c.Token != os.Getenv("INTERLOCK_TOKEN"):
		has = Support{Missing: "the hook's command line has a token, which the line of a command must not show: set INTERLOCK_TOKEN instead"}
	case c.Agent == hookevent.ClaudeCode && claudeVersion(c.Program) == nil:
		has = Support{Missing: "the hook does not learn the version of its agent, and one that takes no changed lines would run them without their jails"}
	case c.witness() == "":
		has = Support{Missing: "the server is on another machine, or its data folder is another user's, so the witness of a jail would not count"}
	}
	headers := [][2]string{{hookwire.JailHeader, strconv.Itoa(has.Level)}, {hookwire.JailMissingHeader, strings.Join(strings.Fields(has.Missing), " ")}}
	if has.Level > 0 {
		headers = append(headers, [2]string{hookwire.JailCommandHeader, c.JailCommand(self)})
	}
	return headers
}

// JailCommand begins the line that runs another one in a jail, with a program.
func (c *Client) JailCommand(program string) string {
	words := []string{program, "jail"}
	for _, flag := range [][2]string{{"--data-dir", c.Data}, {"--server", c.Server}, {"--ca", c.CA}, {"--namespace", c.Namespace}} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	return shellwords.Join(words)
}

// replaceFile writes a file of its owner's at once: it is there in full or not at all, also after a loss of power.
func replaceFile(name string, text []byte) error {
	if err := os.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(path.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	folder, err := os.Open(path.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

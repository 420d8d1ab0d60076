package jailer

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/jailer/stage"
)

// Probe returns what this machine can enforce. It tries every part, once in the life of the process.
func Probe() Support { return probed() }

var probed = sync.OnceValue(func() Support {
	lack, err := try(&stage.Order{Namespaces: true, Closed: true, ScratchMB: 1})
	switch {
	case err != nil:
		lack = "user namespaces: " + err.Error()
	case lack == "":
		return Support{Level: jail.Full}
	}
	more := lack + advice()
	lack, err = try(&stage.Order{Closed: true})
	switch abi := stage.ABI(); {
	case err != nil:
		return Support{Missing: err.Error()}
	case lack != "":
		return Support{Missing: lack + "; " + more}
	case abi < scopesABI:
		return Support{jail.Files, fmt.Sprintf("the kernel's Landlock has version %d, and level 2 needs %d, of Linux 6.12; %s", abi, scopesABI, more)}
	default:
		return Support{jail.Scoped, more}
	}
})

// enforceable returns the level at which a command runs: its profile's, which the stage proves by doing it,
// or the most that is possible and wanted. It is an error where that is less than the profile's.
func enforceable(c *Command) (jail.Level, error) {
	need, most := c.Profile.Level, c.Highest
	if most == jail.None && need != jail.None {
		most = need
	}
	missing := "the caller asks for no more"
	if most == jail.None || most > need {
		has := Probe()
		missing = has.Missing
		if most == jail.None || has.Level < most {
			most = has.Level
		}
	} else if abi := stage.ABI(); abi == 0 || most == jail.Scoped && abi < scopesABI {
		missing, most = fmt.Sprintf("the kernel's Landlock has version %d", abi), min(jail.Level(abi), jail.Files)
	}
	if most < need || most == jail.None {
		return 0, fmt.Errorf("the command needs a jail of level %d, and this machine has level %d: %s", max(need, jail.Files), most, missing)
	}
	return most, nil
}

const scopesABI = 6

// try runs a stage that tries its parts, and returns the first that does not work.
func try(order *stage.Order) (lack string, err error) {
	order.Probe = true
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer null.Close()
	p, err := launch(order, inherited{streams: [3]*os.File{null, null, null}})
	if err != nil {
		return "", err
	}
	defer p.end()
	if err := p.send(order); err != nil {
		return "", err
	}
	m, _, err := p.receive()
	if err != nil {
		return "", fmt.Errorf("the stage of the jail has ended: %w (does the program call jailer.Stage first?)", err)
	}
	if !m.Probed {
		return "", errors.New(m.Failed)
	}
	if len(m.Lacks) > 0 {
		lack = m.Lacks[0]
	}
	return lack, nil
}

// advice says what would make a jail of level 3 possible.
func advice() string {
	setting := func(name string) string {
		data, err := os.ReadFile("/proc/sys/" + name)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(data))
	}
	switch {
	case setting("kernel/apparmor_restrict_unprivileged_userns") == "1" && os.Geteuid() != 0:
		return " (AppArmor keeps users from namespaces: `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or a profile that grants userns to interlock)"
	case setting("kernel/unprivileged_userns_clone") == "0" && os.Geteuid() != 0:
		return " (`sudo sysctl kernel.unprivileged_userns_clone=1` lets users make namespaces)"
	case setting("user/max_user_namespaces") == "0":
		return " (`sudo sysctl user.max_user_namespaces=10000` lets users make namespaces)"
	}
	if _, err := os.Stat("/.dockerenv"); err == nil {
		return " (in a container: `--security-opt seccomp=unconfined --security-opt systempaths=unconfined` lets it make namespaces and mount /proc)"
	}
	return ""
}

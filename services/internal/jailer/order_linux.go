package jailer

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/jailer/stage"
)

// replaced are the folders that a command has of its own at level 3.
var replaced = []string{"/tmp", "/var/tmp", "/run", "/var/run", "/dev", "/proc"}

// filesABI is the first version of Landlock that holds all writes of files, and the last one below level 2 that
// holds nothing else.
const filesABI = 3

// beginOrder sets what decides in which namespaces the stage starts.
func (r *run) beginOrder() error {
	p, o := r.plan, &r.order
	if len(r.command.Argv) == 0 {
		return errors.New("there is no command to run")
	}
	if err := r.known(); err != nil {
		return err
	}
	o.Argv, o.Namespaces, o.Background, o.Nest = r.command.Argv, r.level >= jail.Full, p.Background, p.Nest
	o.Processes, o.MemoryMB, o.CPUSeconds, o.ScratchMB = p.Limits.Processes, p.Limits.MemoryMB, p.Limits.CPUSeconds, p.Limits.ScratchMB
	o.Discard, o.Deny = p.Writes == jail.WritesDiscard, p.Writes == jail.WritesDeny
	// Without hosts the proxy refuses all with a sentence; programs that find no proxy ask for names again and again.
	// Below level 3 the kernel knows ports and no addresses, so that a list of hosts closes the network there.
	o.Proxy = o.Namespaces && p.Network != jail.NetworkOpen && r.command.Proxy != nil
	if o.Namespaces && p.Network == jail.NetworkHosts && r.command.Proxy == nil {
		return errNoProxy
	}
	o.Closed = p.Network != jail.NetworkOpen && !o.Proxy
	if o.Landlock = r.command.Landlock; o.Landlock == 0 && r.command.Highest == jail.Files {
		o.Landlock = filesABI
	}
	return nil
}

// finishOrder resolves the plan's paths on this machine.
func (r *run) finishOrder() error {
	p, o := r.plan, &r.order
	if err := r.places(); err != nil {
		return err
	}
	o.Hide = existing(p.Hide)
	if r.command.Caches != "" {
		o.Hide = append(o.Hide, existing([]string{r.command.Caches})...)
	}
	o.Write = r.writable()
	o.Protect = existing(append(slices.Clone(p.Protect), pointers(p.Protect)...))
	if err := r.consistent(); err != nil {
		return err
	}
	if o.Namespaces {
		o.Keep = r.lentSockets()
		lent := slices.Concat(o.Write, o.Keep)
		o.Hide = append(o.Hide, slices.DeleteFunc(r.sockets(), func(path string) bool { return slices.Contains(lent, path) })...)
	}
	slices.Sort(o.Hide)
	o.Hide = slices.Compact(o.Hide)
	if !o.Namespaces { // hiding costs a rule for each neighbour there
		o.Hide = slices.DeleteFunc(o.Hide, closed)
	}
	r.home()
	r.keep()
	if err := r.caches(); err != nil {
		return err
	}
	o.Env = r.environment()
	return nil
}

// known refuses a profile that this version does not know all of.
func (r *run) known() error {
	p := r.command.Profile
	if p.Version != 1 {
		return fmt.Errorf("the profile is of version %d, and this is a jail for version 1", p.Version)
	}
	switch p.Writes {
	case jail.WritesAllow, jail.WritesDeny, jail.WritesDiscard:
	default:
		return fmt.Errorf("the profile's writes %q are none of allow, deny and discard", p.Writes)
	}
	switch p.Network {
	case jail.NetworkNone, jail.NetworkHosts, jail.NetworkOpen:
	default:
		return fmt.Errorf("the profile's network %q is none of none, hosts and open", p.Network)
	}
	return nil
}

// places resolves the workspace and the folder in which the command starts.
func (r *run) places() error {
	o := &r.order
	if r.plan.Workspace != "" {
		workspace, err := folder(r.plan.Workspace)
		if err != nil {
			return fmt.Errorf("the workspace: %w", err)
		}
		if slices.Contains(append([]string{"/"}, "/dev", "/proc", "/sys"), workspace) {
			return fmt.Errorf("the workspace is %s, which cannot be jailed", workspace)
		}
		o.Workspace = workspace
	}
	dir := r.command.Dir
	if dir == "" {
		dir = r.plan.Folder
	}
	if dir == "" {
		dir = "/"
	}
	var err error
	if o.Dir, err = folder(dir); err != nil {
		return fmt.Errorf("the folder in which the command starts: %w", err)
	}
	return nil
}

func folder(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", &os.PathError{Op: "enter", Path: path, Err: unix.ENOTDIR}
	}
	return filepath.Abs(resolved)
}

// existing resolves those of the paths and patterns that are there. One that cannot be looked at is not
// reached by the command either.
func existing(paths []string) []string {
	var found []string
	for _, path := range paths {
		matches := []string{path}
		if strings.ContainsAny(path, "*?[") {
			matches, _ = filepath.Glob(path) // a pattern that cannot be read is a name
			if len(matches) == 0 {
				matches = []string{path}
			}
		}
		for _, match := range matches {
			if _, err := os.Lstat(match); err != nil {
				continue // most are not there
			}
			if resolved, err := filepath.EvalSymlinks(match); err == nil {
				found = append(found, resolved)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// pointers returns the files in the place of a folder around protected paths: .git is one in linked worktrees and submodules,
// and leads git to the folder whose settings and hooks it obeys.
func pointers(protected []string) (files []string) {
	for _, path := range protected {
		around := filepath.Dir(path)
		if info, err := os.Lstat(around); err == nil && info.Mode().IsRegular() && !slices.Contains(files, around) {
			files = append(files, around)
		}
	}
	return files
}

// consistent refuses profiles whose entries contradict each other.
func (r *run) consistent() error {
	for _, hidden := range r.order.Hide {
		for name, path := range map[string]string{"workspace": r.order.Workspace, "folder in which the command starts": r.order.Dir} {
			if path != "" && within(path, hidden) {
				return fmt.Errorf("the %s %s is in %s, which the profile hides; `interlock jail show --why %s` explains the entry", name, path, hidden, hidden)
			}
		}
		if r.order.Namespaces {
			continue
		}
		if r.order.Workspace != "" && r.plan.Writes == jail.WritesAllow && within(hidden, r.order.Workspace) {
			return fmt.Errorf("%s is hidden in a workspace that can be written, which needs a jail of level 3; `interlock jail show --why %s` explains the entry", hidden, hidden)
		}
		for _, written := range r.order.Write { // a folder is granted with all that is in it
			if within(hidden, written) {
				return fmt.Errorf("%s is hidden in %s, which \"write\" names: that needs a jail of level 3; `interlock jail show --why %s` explains the entry", hidden, written, hidden)
			}
		}
	}
	return nil
}

// writable resolves the folders and files that `write` names. What is hidden stays so.
func (r *run) writable() []string {
	names := slices.DeleteFunc(slices.Clone(r.plan.Write), func(path string) bool { return !r.straight(path) })
	return slices.DeleteFunc(existing(names), func(path string) bool {
		return slices.ContainsFunc(r.order.Hide, func(hidden string) bool { return within(path, hidden) })
	})
}

// straight reports that no link lies on the way to a path in a folder that commands write: one of them could have laid it, and lead
// the jail elsewhere. The way to that folder is the user's.
func (r *run) straight(path string) bool {
	for _, place := range append([]string{r.plan.Workspace, r.order.Workspace}, r.plan.Write...) {
		rest, inside := strings.CutPrefix(path, place+"/")
		if place == "" || !inside {
			continue
		}
		at, err := filepath.EvalSymlinks(place)
		if err != nil {
			return false
		}
		resolved, err := filepath.EvalSymlinks(path)
		if err == nil && resolved != filepath.Join(at, rest) {
			r.notes = append(r.notes, fmt.Sprintf("%s is a link, or in one, in a folder that commands write: the entry was left out", path))
			return false
		}
	}
	return true
}

// closed reports that the user cannot open a path anyway.
func closed(path string) bool {
	return os.Geteuid() != 0 && errors.Is(unix.Access(path, unix.R_OK), unix.EACCES)
}

// sockets returns the sockets with names in the file system that programs listen on: no mount that is
// read-only keeps a command from them.
func (r *run) sockets() []string {
	file, err := os.Open("/proc/net/unix")
	if err != nil {
		return nil
	}
	defer file.Close()
	var named []string
	relative := map[string]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		// "Num: RefCount Protocol Flags Type St Inode Path"
		words := strings.SplitN(strings.Join(strings.Fields(lines.Text()), " "), " ", 8)
		switch {
		case len(words) < 8 || words[7] == "" || words[7][0] == '@' || words[7] == "Path":
		case words[7][0] == '/':
			_, path, _ := strings.Cut(lines.Text(), " /")
			named = append(named, "/"+path)
		default:
			relative[words[6]] = words[7]
		}
	}
	var found []string
	for _, path := range append(named, absolute(relative)...) {
		in := func(folder string) bool { return within(path, folder) }
		shown := r.order.Workspace != "" && in(r.order.Workspace) || slices.ContainsFunc(r.order.Write, in)
		if slices.ContainsFunc(replaced, in) && !shown {
			continue
		}
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
			if resolved, err := filepath.EvalSymlinks(path); err == nil {
				found = append(found, resolved)
			}
		}
	}
	return found
}

// absolute returns the paths of sockets that were given a name relative to the folder of a process: in the folder in which the
// processes that have them open are. They are known by their numbers.
func absolute(relative map[string]string) (paths []string) {
	if len(relative) == 0 {
		return nil
	}
	processes, _ := filepath.Glob("/proc/[0-9]*") // the pattern is a good one
	for _, process := range processes {
		entries, err := os.ReadDir(process + "/fd")
		if err != nil {
			continue // it is another user's, or has ended
		}
		for _, entry := range entries {
			target, err := os.Readlink(process + "/fd/" + entry.Name())
			number, ok := strings.CutPrefix(target, "socket:[")
			if err != nil || !ok {
				continue
			}
			name, ok := relative[strings.TrimSuffix(number, "]")]
			if !ok {
				continue
			}
			if folder, err := os.Readlink(process + "/cwd"); err == nil {
				paths = append(paths, filepath.Join(folder, name))
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// keep finds what a hidden or replaced folder would cover.
func (r *run) keep() {
	o := &r.order
	paths := []string{r.plan.Program}
	if filepath.IsAbs(o.Argv[0]) {
		paths = append(paths, o.Argv[0])
	}
	if !o.Closed && !o.Proxy {
		paths = append(paths, "/etc/resolv.conf")
	}
	if o.Workspace == "" || !within(o.Dir, o.Workspace) {
		paths = append(paths, o.Dir)
	}
	if r.plan.Nest { // what it must not change is there to be read
		paths = append(paths, r.plan.Protect...)
	}
	covers := o.Hide
	if o.Namespaces {
		covers = slices.Concat(o.Hide, replaced)
	}
	for _, path := range existing(paths) {
		inside := func(cover string) bool { return within(path, cover) && path != cover }
		if slices.ContainsFunc(covers, inside) && (o.Workspace == "" || !within(path, o.Workspace)) {
			o.Keep = append(o.Keep, path)
		}
	}
}

// dockerSockets are where docker's programs look unless DOCKER_HOST says otherwise.
var dockerSockets = []string{"/var/run/docker.sock", "/run/docker.sock"}

// lentSockets returns the sockets of services whose variables are lent, unless a rule hides them by name.
func (r *run) lentSockets() []string {
	var paths []string
	for _, variable := range r.command.Env {
		name, value, _ := strings.Cut(variable, "=")
		if slices.Contains(r.plan.Lend, name) {
			paths = append(paths, strings.TrimPrefix(value, "unix://"))
		}
	}
	if slices.Contains(r.plan.Lend, "DOCKER_HOST") {
		paths = append(paths, dockerSockets...)
	}
	var lent []string
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			continue
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode()&os.ModeSocket == 0 || slices.Contains(r.plan.Hide, path) {
			continue
		}
		lent = append(lent, existing([]string{path})...)
	}
	return lent
}

// home finds the user's folder, whose changes are discarded: programs keep records of their own in it.
func (r *run) home() {
	home, err := folder(r.plan.Home)
	if err != nil || !r.order.Namespaces || depth(home) == 0 || slices.Contains(replaced, home) || slices.Contains(r.order.Hide, home) ||
		r.order.Workspace != "" && within(home, r.order.Workspace) ||
		slices.ContainsFunc(r.order.Write, func(w string) bool { return within(home, w) }) {
		return
	}
	r.order.Home = home
}

func depth(path string) int { return strings.Count(strings.TrimSuffix(path, "/"), "/") }

// caches finds the folders that the command changes in a copy, and where the copies are.
func (r *run) caches() error {
	o, own := &r.order, r.command.Caches
	if own != "" {
		resolved, err := r.ownFolder("")
		if err != nil {
			return err
		}
		own = resolved
		if o.Tmp, err = r.ownFolder("tmp"); err != nil {
			return err
		}
		if o.VarTmp, err = r.ownFolder("vartmp"); err != nil {
			return err
		}
	}
	if !o.Namespaces {
		if o.Tmp == "" {
			var err error
			if o.Tmp, err = os.MkdirTemp("", "interlock-jail-"); err != nil {
				return err
			}
			r.undo = append(r.undo, func() { os.RemoveAll(o.Tmp) })
		}
		return nil // nothing can be copied on write
	}
	if own != "" {
		var err error
		if o.Copies, err = r.ownFolder("copies"); err != nil {
			return err
		}
	}
	o.Caches = r.copied()
	if own == "" {
		return nil
	}
	for i := range o.Caches {
		var err error
		if o.Caches[i].Name, err = r.copyFolder(o.Caches[i].Base); err != nil {
			return err
		}
	}
	return nil
}

// copied groups the profile's caches by the folder of which a copy is made: those of the home folder share
// one, because each copy takes time.
func (r *run) copied() []stage.Cache {
	o := &r.order
	var caches []stage.Cache
	home, build := stage.Cache{Base: o.Home}, stage.Cache{Base: o.Workspace} // build has what the workspace does not have yet
	for _, path := range r.plan.Caches {
		if !r.straight(path) {
			continue
		}
		if _, err := os.Lstat(path); err == nil {
			path, err = filepath.EvalSymlinks(path)
			if info, statErr := os.Stat(path); errors.Join(err, statErr) != nil || !info.IsDir() {
				continue
			}
		} else if missing := errors.Is(err, os.ErrNotExist); missing && o.Discard && o.Workspace != "" && within(path, o.Workspace) {
			build.Paths = append(build.Paths, path)
			continue
		} else if !missing || path != o.Home+"/.cache" {
			continue // what is missing else is made in the copy of the home folder, and thrown away
		}
		switch {
		case slices.ContainsFunc(o.Write, func(w string) bool { return within(path, w) }),
			o.Workspace != "" && within(path, o.Workspace) && r.plan.Writes == jail.WritesAllow:
			// It can be written as it is.
		case o.Home != "" && within(path, o.Home) && (o.Workspace == "" || !within(path, o.Workspace)):
			home.Paths = append(home.Paths, path)
		default:
			caches = append(caches, stage.Cache{Base: path, Paths: []string{path}})
		}
	}
	for _, cache := range []stage.Cache{home, build} {
		if len(cache.Paths) > 0 {
			caches = append(caches, cache)
		}
	}
	return caches
}

// ownFolder makes a folder in the run's own, and returns its resolved path.
func (r *run) ownFolder(name string) (string, error) {
	path := filepath.Join(r.command.Caches, name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// copyFolder makes the folder of one cache's copy, and locks it for this command. The name is empty while
// another command has it, and where it cannot be used again.
func (r *run) copyFolder(path string) (string, error) {
	sum := sha256.Sum256([]byte(path))
	name := hex.EncodeToString(sum[:8])
	for _, part := range []string{"up", "work"} {
		if _, err := r.ownFolder(filepath.Join("copies", name, part)); err != nil {
			return "", err
		}
	}
	lock, err := os.OpenFile(filepath.Join(r.order.Copies, name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	r.files = append(r.files, lock)
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if clean(filepath.Join(r.order.Copies, name, "work", "work")) != nil {
		return "", nil
	}
	return name, nil
}

// clean removes the mark of an overlay that has not written its files to the disk at its end: they are a
// cache's, and may be lost with the machine's power.
func clean(work string) error {
	if _, err := os.Lstat(work); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	at := work
	for _, part := range []string{"", "incompat", "volatile"} {
		at = filepath.Join(at, part)
		if err := os.Chmod(at, 0o700); errors.Is(err, os.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return os.RemoveAll(filepath.Join(work, "incompat"))
}

// environment returns the command's environment, without the proxy of level 3, which the stage adds.
func (r *run) environment() []string {
	tmp := "/tmp"
	if !r.order.Namespaces {
		tmp = r.order.Tmp
	}
	return stage.Setenv(r.plan.Environment(r.command.Env), "TMPDIR", tmp)
}

// explain completes a stage's sentence by the way to find the entry of the profile.
func (r *run) explain(failed string) string {
	if strings.HasPrefix(failed, stage.NotBuilt) {
		failed += advice()
	}
	return failed + "; `interlock jail show` prints the profile"
}

// within reports that path is in folder, or is it.
func within(path, folder string) bool {
	return path == folder || folder == "/" || strings.HasPrefix(path, folder+"/")
}

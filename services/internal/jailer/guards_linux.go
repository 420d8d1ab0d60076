package jailer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A client that gives up on a command kills it, and the process that would put protected names back with it. So these are
// written down while the command runs. The file is locked as long as that process lives.

// keptGuards is what is put back of one command.
type keptGuards struct {
	// Stage is the process that ends when all of the command has ended.
	Stage int         `json:"stage"`
	Roots []keptRoot  `json:"roots"`
	Below []keptBelow `json:"below,omitempty"`
}

type keptRoot struct {
	Path   string              `json:"path"`
	Names  []string            `json:"names"`
	Vacant []string            `json:"vacant,omitempty"`
	Before map[string]keptFile `json:"before,omitempty"`
}

type keptFile struct {
	Mode     fs.FileMode `json:"mode"`
	Modified time.Time   `json:"modified"`
	UID      int         `json:"uid"`
	GID      int         `json:"gid"`
	Content  []byte      `json:"content,omitempty"`
}

// ending is how long a stage may take to end when it is killed.
const ending = 2 * time.Second

// keepGuards writes down what is to be put back, before the command starts.
func (r *run) keepGuards() error {
	if r.command.Guards == "" || len(r.guarded.roots)+len(r.guarded.below) == 0 {
		return nil
	}
	kept := keptGuards{}
	if <-r.process.started; r.process.err == nil {
		kept.Stage = r.process.pid
	}
	for _, gr := range r.guarded.roots {
		kept.Roots = append(kept.Roots, gr.written())
	}
	if err := os.MkdirAll(r.command.Guards, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(r.command.Guards, ".new-*")
	if err != nil {
		return err
	}
	name := filepath.Join(r.command.Guards, strings.TrimPrefix(filepath.Base(file.Name()), ".new-")+".json")
	for i, bg := range r.guarded.below {
		k, failed := bg.written(fmt.Sprintf("%s.%d", name, i))
		kept.Below, err = append(kept.Below, k), errors.Join(err, failed)
	}
	r.records = kept.Below
	data, failed := json.Marshal(kept)
	if failed == nil {
		_, failed = file.Write(data)
	}
	err = errors.Join(err, failed, unix.Flock(int(file.Fd()), unix.LOCK_EX))
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	r.guards, r.undo = file, append(r.undo, func() { file.Close() })
	r.guardsName = name
	return nil
}

// dropGuards removes what was written down: all is put back, or nothing was started.
func (r *run) dropGuards() {
	if r.guardsName != "" {
		_ = os.Remove(r.guardsName)
		r.guardsName = ""
	}
	for _, k := range r.records {
		_ = os.Remove(k.Record)
	}
	r.records = nil
}

func (gr *guardedRoot) written() keptRoot {
	root := keptRoot{Path: gr.path, Names: gr.names, Before: map[string]keptFile{}}
	for at := range gr.vacant {
		root.Vacant = append(root.Vacant, at)
	}
	for name, is := range gr.before {
		root.Before[name] = keptFile{is.mode, is.modified, is.uid, is.gid, []byte(is.content)}
	}
	return root
}

// Restore puts back the protected names of commands whose process was killed, and returns those that were changed.
func Restore(folder string) (changed []string, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.json"))
	for _, name := range names {
		some, failed := restoreGuarded(name)
		changed, err = append(changed, some...), errors.Join(err, failed)
	}
	return changed, err
}

func restoreGuarded(name string) (changed []string, err error) {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, nil //nolint:nilerr // its process lives
	}
	var kept keptGuards
	if err := json.NewDecoder(file).Decode(&kept); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", name, err), os.Remove(name))
	}
	awaitEnd(kept.Stage)
	for _, of := range kept.Roots {
		some, failed := of.putBack()
		changed, err = append(changed, some...), errors.Join(err, failed)
	}
	for _, of := range kept.Below {
		some, failed := of.putBack()
		changed, err = append(changed, some...), errors.Join(err, failed, os.Remove(of.Record))
	}
	return changed, errors.Join(err, os.Remove(name))
}

func (k *keptRoot) putBack() (changed []string, err error) {
	root, err := os.OpenRoot(k.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	gr := &guardedRoot{path: k.Path, root: root, names: k.Names, before: map[string]remembered{}, vacant: map[string]bool{}}
	for _, at := range k.Vacant {
		gr.vacant[at] = true
	}
	for name, was := range k.Before {
		gr.before[name] = remembered{was.Mode, was.Modified.Local(), was.UID, was.GID, string(was.Content)}
	}
	for _, name := range gr.names {
		for _, one := range gr.putBack(name) {
			changed = append(changed, filepath.Join(k.Path, one))
		}
	}
	return changed, nil
}

// awaitEnd waits until a process that was killed has ended.
func awaitEnd(pid int) {
	for until := time.Now().Add(ending); pid > 0 && time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, after, _ := strings.Cut(string(stat), ") ")
		if err != nil || strings.HasPrefix(after, "Z") || !strings.Contains(string(stat), "(exe)") && !strings.Contains(string(stat), "interlock") {
			return
		}
	}
}

package stage

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"github.com/interlock-run/interlock/services/internal/jailer/stage/sys"
)

// copied returns the folders that get an overlay.
func (v *view) copied() []string {
	var paths []string
	if v.order.Discard && v.order.Workspace != "" {
		paths = append(paths, v.order.Workspace)
	}
	if v.order.Home != "" {
		paths = append(paths, v.order.Home)
	}
	for _, cache := range v.order.Caches {
		paths = append(paths, cache.Base)
	}
	return paths
}

// copies mounts the overlays, and returns them by the folder that they are for.
func (v *view) copies(lower map[string]int) (map[string]int, error) {
	o := v.order
	if o.Copies != "" {
		if err := attach(v.clones[o.Copies], scratchAt+"/copies"); err != nil {
			return nil, err
		}
	}
	mounts := map[string]int{}
	if o.Discard && o.Workspace != "" {
		fd, err := overlay(lower[o.Workspace], scratchAt+"/up", scratchAt+"/work")
		if err != nil { // a workspace with other file systems in it has no copy
			v.notes = append(v.notes, "writes into "+o.Workspace+" are denied and not discarded: "+err.Error())
			o.Discard, o.Deny = false, true
			if fd, err = openTree(o.Workspace); err != nil {
				return nil, err
			}
		} else {
			v.uppers = append(v.uppers, upper{"up", "", lower[o.Workspace]})
		}
		mounts[o.Workspace] = fd
	}
	for i, cache := range o.Caches {
		if err := v.cache(cache, i, lower[cache.Base], mounts); err != nil {
			v.notes = append(v.notes, "the caches of "+cache.Base+" are read-only: "+err.Error())
		}
	}
	if o.Home != "" {
		fd, err := overlay(lower[o.Home], scratchAt+"/homeup", scratchAt+"/homework")
		if err != nil {
			v.notes = append(v.notes, o.Home+" is read-only: "+err.Error())
			o.Home = ""
		} else {
			v.uppers = append(v.uppers, upper{"homeup", o.Home, lower[o.Home]})
			mounts[o.Home] = fd
		}
	}
	return mounts, nil
}

// cache adds the mounts of one cache.
func (v *view) cache(cache Cache, i, lower int, mounts map[string]int) error {
	at := scratchAt + "/copies/" + cache.Name
	if cache.Name == "" {
		at = scratchAt + "/cache" + strconv.Itoa(i)
		if err := errors.Join(os.Mkdir(at, 0o755), os.Mkdir(at+"/up", 0o755), os.Mkdir(at+"/work", 0o755)); err != nil {
			return err
		}
	}
	for _, path := range cache.Paths {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			continue
		}
		made := []string{at + "/up" + path[len(cache.Base):]}
		if v.order.Home != "" && within(path, v.order.Home) { // where the copy is mounted
			made = append(made, scratchAt+"/homeup"+path[len(v.order.Home):])
		}
		for _, folder := range made {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return err
			}
		}
	}
	fd, err := overlay(lower, at+"/up", at+"/work")
	if err != nil {
		return err
	}
	if len(cache.Paths) == 1 && cache.Paths[0] == cache.Base {
		mounts[cache.Base] = fd
		return nil
	}
	base := scratchAt + "/base" + strconv.Itoa(i)
	if err := os.Mkdir(base, 0o755); err != nil {
		return err
	}
	if err := attach(fd, base); err != nil {
		return err
	}
	for _, path := range cache.Paths {
		if fd, err = openTree(base + path[len(cache.Base):]); err != nil {
			return err
		}
		mounts[path] = fd
	}
	return nil
}

// overlay returns a copy-on-write mount of a folder.
func overlay(lower int, upper, work string) (int, error) {
	fs, err := sys.Fsopen("overlay")
	if err != nil {
		return 0, err
	}
	defer syscall.Close(fs)
	err = errors.Join(
		sys.FsconfigString(fs, "lowerdir", "/proc/self/fd/"+strconv.Itoa(lower)),
		sys.FsconfigString(fs, "upperdir", upper),
		sys.FsconfigString(fs, "workdir", work),
		sys.FsconfigFlag(fs, "userxattr"),
		sys.FsconfigFlag(fs, "volatile"))
	if err == nil {
		err = sys.FsconfigCreate(fs)
	}
	if err != nil {
		return 0, about("overlay", complaint(fs, err))
	}
	return sys.Fsmount(fs, sys.MOUNT_ATTR_NOSUID|sys.MOUNT_ATTR_NODEV)
}

// complaint adds the kernel's own words about a file system that it did not make.
func complaint(fs int, err error) error {
	buffer := make([]byte, 512)
	said := err.Error()
	for {
		n, err := syscall.Read(fs, buffer)
		if err != nil || n <= 0 {
			break
		}
		said += " (" + string(buffer[:n]) + ")"
	}
	return errors.New(said)
}

package stage

// The standard library's packages fmt, strings and path/filepath are initialised late: see package sys.

// failure is an error with its subject.
type failure struct {
	subject string
	err     error
}

func (f *failure) Error() string { return f.subject + ": " + f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// about returns an error that names its subject.
func about(subject string, err error) error { return &failure{subject, err} }

// within reports that path is in folder, or is it.
func within(path, folder string) bool {
	return path == folder || folder == "/" || hasPrefix(path, folder+"/")
}

func hasPrefix(text, prefix string) bool {
	return len(text) >= len(prefix) && text[:len(prefix)] == prefix
}

// cut returns the text before and after the first separator. False: it has none.
func cut(text string, separator byte) (before, after string, ok bool) {
	for i := range len(text) {
		if text[i] == separator {
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

// fields returns the words of a text.
func fields(text string) (words []string) {
	for text != "" {
		var word string
		if word, text, _ = cut(text, ' '); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// depth counts the folders around an absolute path.
func depth(path string) (n int) {
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			n++
		}
	}
	return n
}

// parent returns the folder around an absolute path.
func parent(path string) string {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '/' {
			return path[:i]
		}
	}
	return "/"
}

// join returns the path of a name in a folder.
func join(folder, name string) string {
	if folder == "/" {
		return "/" + name
	}
	return folder + "/" + name
}

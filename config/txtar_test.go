package config

import "strings"

// archive is a text archive (txtar): a comment, then files, each behind a line
// "-- name --".
type archive struct {
	comment string
	files   []archiveFile
}

type archiveFile struct{ name, data string }

func parseArchive(text string) archive {
	var a archive
	for line := range strings.Lines(text) {
		name, isMarker := strings.CutPrefix(strings.TrimRight(line, "\n"), "-- ")
		if isMarker && strings.HasSuffix(name, " --") {
			a.files = append(a.files, archiveFile{name: strings.TrimSuffix(name, " --")})
		} else if n := len(a.files); n > 0 {
			a.files[n-1].data += line
		} else {
			a.comment += line
		}
	}
	return a
}

func (a archive) String() string {
	var b strings.Builder
	b.WriteString(a.comment)
	for _, f := range a.files {
		b.WriteString("-- " + f.name + " --\n" + f.data)
	}
	return b.String()
}

func (a archive) file(name string) string {
	for _, f := range a.files {
		if f.name == name {
			return f.data
		}
	}
	return ""
}

package scheduler

import (
	"fmt"
	"slices"
	"strings"
)

// sourceNames returns the names in CrawlConfig.xml and in all output, by number.
func sourceNames() [Sources]string {
	return [Sources]string{"user", "redir", "index", "index_follow", "follow", "refresh"}
}

// Name returns the source's name in CrawlConfig.xml: user, redir, index, index_follow, follow or refresh.
func (s Source) Name() string {
	if s >= Sources {
		return fmt.Sprintf("source %d", uint8(s))
	}
	return sourceNames()[s]
}

// SourceWords returns the names of all sources, by number.
func SourceWords() []string {
	names := sourceNames()
	return names[:]
}

// String returns Name.
func (s Source) String() string { return s.Name() }

// ParseSource parses a source's name.
func ParseSource(name string) (Source, error) {
	if i := slices.Index(SourceWords(), name); i >= 0 {
		return Source(i), nil //nolint:gosec // fewer than 256
	}
	return 0, fmt.Errorf("%q is not a URL source: write one of %s", name, strings.Join(SourceWords(), ", "))
}

// SourceFor returns the fifo for a decision (Exalead CloudView, "How Priorities Work"): the number of its kind plus the
// shift, -2 (sooner) to 2. A root stays in 0 to 4, so that only roots without a positive shift are in user; any other
// URL stays in 1 to 4. At least one of index and follow must be true, or the URL is not crawled at all.
func SourceFor(index, follow bool, shift int, root bool) Source {
	switch {
	case root:
		return shifted(User, shift, User)
	case index && follow:
		return shifted(IndexFollow, shift, Redir)
	case index:
		return shifted(Index, shift, Redir)
	default:
		return shifted(Follow, shift, Redir)
	}
}

// shifted adds a shift, within lowest and the last fifo.
func shifted(s Source, shift int, lowest Source) Source {
	return Source(min(max(int(s)+shift, int(lowest)), int(Follow)))
}

// ClassWords returns the words for all classes, by their numbers.
func ClassWords() []string {
	return []string{"pending", "ok", "redirect", "ignored", "temporary", "permanent"}
}

// ParseClass reads the word for a class.
func ParseClass(word string) (Class, error) {
	if i := slices.Index(ClassWords(), word); i >= 0 {
		return Class(i), nil //nolint:gosec // fewer than 256
	}
	return 0, fmt.Errorf("%q: write one of %s", word, strings.Join(ClassWords(), ", "))
}

// String returns the class's word in all output.
func (c Class) String() string {
	if words := ClassWords(); int(c) < len(words) {
		return words[c]
	}
	return fmt.Sprintf("class %d", uint8(c))
}

// String returns the state's word.
func (s State) String() string {
	words := [...]string{"waiting", "timed", "at rest"}
	if int(s) >= len(words) {
		return fmt.Sprintf("state %d", uint8(s))
	}
	return words[s]
}

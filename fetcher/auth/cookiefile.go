package auth

import (
	"bytes"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// A CookieFile has one mutex, which each method takes for its whole time, over the writing of
// the file, too: nobody waits for it but who reads or writes that file. It stores a line with
// the name, the version and the SHA-256 of what follows, and then JSON.

// CookieFile keeps cookies over a restart: those of sessions, found again by what makes the
// session, and those of all sites. Only its owner may read the file. A damaged one is as good
// as none: it costs log-ins. The nil CookieFile keeps nothing.
type CookieFile struct {
	path string

	mu      sync.Mutex
	content keptFile
	sealed  map[[32]byte]string // identities as they are written, each of which takes a while
	written string              // what the file was written of
}

// keptFile is the JSON in a CookieFile.
type keptFile struct {
	Salt     []byte        `json:"salt"`
	Sessions []keptSession `json:"sessions,omitempty"`
	Sites    []keptCookie  `json:"sites,omitempty"`
}

type keptSession struct {
	// Identity is derived from what makes the session, passwords included, slowly enough that
	// nobody finds them by trying.
	Identity string       `json:"identity"`
	Cookies  []keptCookie `json:"cookies"`
}

const (
	cookieFileHead = "sextant-cookies 1 "
	// maxCookieFile bounds what is read: a jar's bound, written as JSON, is some 40 MiB.
	maxCookieFile = 64 << 20
	sealRounds    = 20_000 // of PBKDF2: some milliseconds
)

// OpenCookieFile reads the file at path, if there is one.
func OpenCookieFile(path string, log *slog.Logger) *CookieFile {
	f := &CookieFile{path: path, sealed: map[[32]byte]string{}, written: "nothing yet"}
	content, err := readCookieFile(path)
	if err == nil {
		f.content, err = parseCookieFile(content)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("kept cookies cannot be read: log-ins are made anew", "file", path, "error", err)
	}
	if len(f.content.Salt) == 0 {
		f.content.Salt = make([]byte, 16)
		_, _ = rand.Read(f.content.Salt) // never fails
	}
	return f
}

// Format is the form of every verb, lest fmt shows cookies.
func (f *CookieFile) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "cookies kept in "+f.path) }

// readCookieFile refuses a file that others may read or that is none of its own.
func readCookieFile(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("mode %v: others may have read or written it", info.Mode())
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, maxCookieFile))
}

var errDamaged = errors.New("it is damaged")

func parseCookieFile(b []byte) (keptFile, error) {
	var out keptFile
	head, body, _ := bytes.Cut(b, []byte("\n"))
	sum := sha256.Sum256(body)
	if string(head) != cookieFileHead+hex.EncodeToString(sum[:]) || json.Unmarshal(body, &out) != nil || len(out.Salt) == 0 {
		return keptFile{}, errDamaged // without what json says, which may show a value
	}
	return out, nil
}

// ResumeSession gives a new session the cookies of that of the last run with the same identity.
func (f *CookieFile) ResumeSession(identity [32]byte, s *Session) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, k := range f.content.Sessions {
		if k.Identity == f.seal(identity) {
			s.resume(k.Cookies, time.Now())
			f.content.Sessions = append(f.content.Sessions[:i:i], f.content.Sessions[i+1:]...) // it goes on once
			return
		}
	}
}

// ResumeSites gives a jar the cookies of all sites of the last run.
func (f *CookieFile) ResumeSites(j *Jar) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	j.resume(f.content.Sites, time.Now())
	f.content.Sites = nil
}

// seal returns an identity as it is written. Its caller holds mu.
func (f *CookieFile) seal(identity [32]byte) string {
	if f.sealed[identity] == "" {
		key, err := pbkdf2.Key(sha256.New, string(identity[:]), f.content.Salt, sealRounds, sha256.Size)
		if err != nil {
			return "" // only where the platform forbids the function: nothing is found again then
		}
		f.sealed[identity] = hex.EncodeToString(key)
	}
	return f.sealed[identity]
}

// Save writes the cookies of these sessions, and of the jar of all sites if it is not nil, if
// there is something new since the last time. Without anything to keep there is no file.
func (f *CookieFile) Save(sessions map[[32]byte]*Session, sites *Jar) error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	stamp := "" // of what there is, without looking at each cookie
	for _, identity := range sortedIdentities(sessions) {
		s := sessions[identity]
		stamp += fmt.Sprintf("%x %d %v,", identity, s.jar.changes(), s.Status().State == "logged out")
	}
	if sites != nil {
		stamp += fmt.Sprint("sites ", sites.changes())
	}
	if stamp == f.written {
		return nil
	}
	if err := f.write(sessions, sites); err != nil {
		return err
	}
	f.written = stamp
	return nil
}

// write replaces the file at once. Its caller holds mu.
func (f *CookieFile) write(sessions map[[32]byte]*Session, sites *Jar) error {
	out, now := keptFile{Salt: f.content.Salt}, time.Now()
	for _, identity := range sortedIdentities(sessions) {
		if cookies := sessions[identity].kept(now); len(cookies) > 0 {
			out.Sessions = append(out.Sessions, keptSession{f.seal(identity), cookies})
		}
	}
	if sites != nil {
		out.Sites = sites.kept(now)
	}
	if len(out.Sessions) == 0 && len(out.Sites) == 0 {
		if err := os.Remove(f.path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	body, err := json.Marshal(out)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	return replaceFile(f.path, append([]byte(cookieFileHead+hex.EncodeToString(sum[:])+"\n"), body...))
}

// replaceFile writes a file that only its owner may read. What a crash left of the last time
// is removed first: it may hold cookies.
func replaceFile(path string, content []byte) error {
	name := path + ".new"
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	next, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = next.Write(content)
	if err = errors.Join(err, next.Close()); err == nil {
		err = os.Rename(name, path)
	}
	if err != nil {
		_ = os.Remove(name) // nothing needs it
	}
	return err
}

func sortedIdentities(sessions map[[32]byte]*Session) [][32]byte {
	all := make([][32]byte, 0, len(sessions))
	for identity := range sessions {
		all = append(all, identity)
	}
	slices.SortFunc(all, func(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) })
	return all
}

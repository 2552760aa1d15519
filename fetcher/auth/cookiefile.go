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

// A CookieFile has one mutex, which each method holds throughout, also while it writes the file: only readers and
// writers of the file wait for it. Form: a line with the name, the version and the SHA-256 of what follows, and then
// JSON.

// CookieFile keeps cookies across restarts: those of sessions, identified by a hash of their settings, and those of all
// sites. Only its owner may read the file. A damaged file counts as missing, which costs log-ins. The nil CookieFile
// keeps nothing.
type CookieFile struct {
	path string

	mu      sync.Mutex
	content keptFile
	sealed  map[[32]byte]string // derived identities, since deriving one is slow
	written string              // stamp of the written content
}

// keptFile is the JSON of a CookieFile.
type keptFile struct {
	Salt     []byte        `json:"salt"`
	Sessions []keptSession `json:"sessions,omitempty"`
	Sites    []keptCookie  `json:"sites,omitempty"`
}

type keptSession struct {
	// Identity is derived from the session's settings, passwords included, slowly enough to prevent guessing them.
	Identity string       `json:"identity"`
	Cookies  []keptCookie `json:"cookies"`
}

const (
	cookieFileHead = "sextant-cookies 1 "
	// bound of the file: a full jar is some 40 MiB of JSON
	maxCookieFile = 64 << 20
	sealRounds    = 20_000 // of PBKDF2: a few milliseconds
)

// OpenCookieFile reads the file at path, if there is one.
func OpenCookieFile(path string, log *slog.Logger) *CookieFile {
	f := &CookieFile{path: path, sealed: map[[32]byte]string{}, written: "nothing yet"}
	content, err := readCookieFile(path)
	if err == nil {
		f.content, err = parseCookieFile(content)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("cannot read the stored cookies; sessions log in again", "file", path, "error", err)
	}
	if len(f.content.Salt) == 0 {
		f.content.Salt = make([]byte, 16)
		_, _ = rand.Read(f.content.Salt) // never fails
	}
	return f
}

// Format writes the same for every verb, so that fmt never shows cookies.
func (f *CookieFile) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "cookies kept in "+f.path) }

// readCookieFile refuses a file that others may read or that has another format.
func readCookieFile(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("its mode is %v: others may have read or written it", info.Mode())
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
		return keptFile{}, errDamaged // without the error of json, which may show a value
	}
	return out, nil
}

// ResumeSession gives a new session the cookies of the last run's session with the same identity.
func (f *CookieFile) ResumeSession(identity [32]byte, s *Session) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, k := range f.content.Sessions {
		if k.Identity == f.seal(identity) {
			s.resume(k.Cookies, time.Now())
			f.content.Sessions = append(f.content.Sessions[:i:i], f.content.Sessions[i+1:]...) // it is resumed once
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

// seal returns an identity in its stored form. Its caller holds mu.
func (f *CookieFile) seal(identity [32]byte) string {
	if f.sealed[identity] == "" {
		key, err := pbkdf2.Key(sha256.New, string(identity[:]), f.content.Salt, sealRounds, sha256.Size)
		if err != nil {
			return "" // only if the platform forbids the function: no session is resumed then
		}
		f.sealed[identity] = hex.EncodeToString(key)
	}
	return f.sealed[identity]
}

// Save writes the cookies of these sessions, and of the jar of all sites if it is not nil, if anything has changed
// since the last time. Without any cookies there is no file.
func (f *CookieFile) Save(sessions map[[32]byte]*Session, sites *Jar) error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	stamp := "" // identifies the content without reading each cookie
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

// write replaces the file atomically. Its caller holds mu.
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

// replaceFile writes a file that only its owner may read. It first removes what a crash may have left, which may
// contain cookies.
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
		_ = os.Remove(name) // it is not needed
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

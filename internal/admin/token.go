package admin

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Bounds of a token, in characters. A generated token has 64.
const (
	MinToken = 32
	maxToken = 4096
)

// tokenBytes is the number of random bytes in a generated token.
const tokenBytes = 32

// token is a token in force, stored as its digest.
type token struct {
	role Role
	name string // of its file
	sum  [sha256.Size]byte
}

// TokenError is an unusable file for access, with what to do.
type TokenError struct {
	Path, Words string
}

func (e *TokenError) Error() string { return e.Path + ": " + e.Words }

// TokenPath returns the file of a role's token in a data directory.
func TokenPath(data string, role Role) string { return filepath.Join(data, role.String()+".token") }

// EnsureToken creates the token of a role in a data directory if there is none, and returns its path. It does not check
// an existing one.
func EnsureToken(data string, role Role) (path string, made bool, err error) {
	path = TokenPath(data, role)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return path, false, nil
	}
	if err != nil {
		return path, false, err
	}
	random := make([]byte, tokenBytes)
	_, _ = rand.Read(random) // it cannot fail
	_, err = f.WriteString(hex.EncodeToString(random) + "\n")
	if err = errors.Join(err, f.Sync(), f.Close(), ownAs(path, data)); err != nil {
		return path, false, errors.Join(err, os.Remove(path))
	}
	return path, true, nil
}

// CheckToken returns what is wrong with the file of a token, or nil.
func CheckToken(path string) error {
	_, err := readToken(path, Nobody)
	return err
}

// readToken reads the token in a file, ignoring white space around it.
func readToken(path string, role Role) (token, error) {
	f, err := os.Open(path)
	if err != nil {
		return token{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return token{}, err
	}
	if !info.Mode().IsRegular() {
		return token{}, &TokenError{path, "it is not a file that can hold a token"}
	}
	if tooWide(info) {
		return token{}, &TokenError{path, wideWords(info)}
	}
	b, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return token{}, err
	}
	text := strings.TrimSpace(string(b))
	switch {
	case text == "":
		return token{}, &TokenError{path, "it is empty: write a token into it, or remove it and have sextant token make one"}
	case len(text) < MinToken:
		return token{}, &TokenError{path, fmt.Sprintf("its token has %d characters and could be guessed: write %d random ones or more, as openssl rand -hex 32 makes them", len(text), MinToken)}
	case len(b) > maxToken || strings.ContainsFunc(text, notInToken):
		return token{}, &TokenError{path, "its content is not a token: one line of letters, digits and -._~+/= is expected"}
	}
	return token{role, filepath.Base(path), sha256.Sum256([]byte(text))}, nil
}

// CheckSecretFile returns the fault of a file that holds another secret, or nil.
func CheckSecretFile(path string) error {
	info, err := os.Stat(path)
	if err == nil && tooWide(info) {
		err = &TokenError{path, wideWords(info)}
	}
	return err
}

// notInToken reports whether a character is not allowed in a bearer token (RFC 6750, 2.1).
func notInToken(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && !strings.ContainsRune("-._~+/=", r)
}

// tooWide reports whether users other than the owner and a group of readers could read or
// change a file.
func tooWide(info fs.FileInfo) bool { return info.Mode().Perm()&0o037 != 0 }

func wideWords(info fs.FileInfo) string {
	return fmt.Sprintf("its mode %04o lets others read or change it: chmod 600 (640 where a group must read it)", info.Mode().Perm())
}

//go:build !amd64

package near

func windows(text string, words []word) (at, n int) { return windowsOf(text, words) }

func plain(r *reader, s *Signature, words []word) (n int) { return plainOf(r, s, words) }

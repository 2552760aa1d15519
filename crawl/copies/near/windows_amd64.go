package near

// windows is windowsOf by SSE2, which each amd64 has.
//
//go:noescape
func windows(text string, words []word) (at, n int)

// plain is plainOf by instructions that each amd64 has: a third fewer than Go's.
//
//go:noescape
func plain(r *reader, s *Signature, words []word) (n int)

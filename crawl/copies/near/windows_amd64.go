package near

// windows is windowsOf by SSE2, which each amd64 has.
//
//go:noescape
func windows(text string, words []word) (at, n int)

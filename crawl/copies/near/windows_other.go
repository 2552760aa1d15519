//go:build !amd64

package near

func windows(text string, words []word) (at, n int) { return windowsOf(text, words) }

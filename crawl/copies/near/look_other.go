//go:build !amd64

package near

func look(text string) (inWords, signs uint64, ok bool) { return lookAt(text) }

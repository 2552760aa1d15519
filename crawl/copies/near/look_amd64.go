package near

// look is lookAt with the instructions that each amd64 has.
//
//go:noescape
func look(text string) (inWords, signs uint64, ok bool)

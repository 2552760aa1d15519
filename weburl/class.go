package weburl

// Classes of bytes. The first three hold what the standard leaves unencoded in
// the component, so they follow its percent-encode sets (URL standard, section 1.3).
const (
	pathByte     = 1 << iota // written unescaped in a path segment; '%' is not a member
	queryByte                // written unescaped in a query of http; '%' is not a member
	fragmentByte             // written unescaped in a fragment
	hostByte                 // allowed in an ordinary label of a host
	schemeByte               // follows the first letter of a scheme
	endByte                  // ends a path segment, a path or a query
	oddByte                  // is removed or becomes a slash: for the slow path
)

// classes is a table and never written.
var classes = classify()

func classify() (t [256]uint8) {
	mark := func(bytes string, class uint8) {
		for i := range len(bytes) {
			t[bytes[i]] |= class
		}
	}
	const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	mark(alphanumeric, pathByte|queryByte|fragmentByte|hostByte|schemeByte)
	mark("!$&()*+,-.:;=@[]^_|~", pathByte|queryByte|fragmentByte)
	mark("'", pathByte|fragmentByte)
	mark("/?\\`{}", queryByte)
	mark("/?\\{}#%", fragmentByte)
	mark("-_", hostByte)
	mark("+-.", schemeByte)
	mark("/?#", endByte)
	mark("\t\n\r\\", oddByte)
	return t
}

func is(c byte, class uint8) bool { return classes[c]&class != 0 }

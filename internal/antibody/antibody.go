package antibody

import "regexp"

type Kind string

const (
	Heavy Kind = "heavy"
	Kappa Kind = "kappa"
)

func (k Kind) Antibody() bool { return true }

type Domain struct {
	Kind       Kind
	Start, End int
}

var h = regexp.MustCompile(`.{0,24}C.{8,20}W.{50,60}C.{5,30}WG.G..VTVSS`)
var l = regexp.MustCompile(`.{0,24}C.{8,20}W.{40,60}C.{5,15}FG.G..[LV]..[KRL]`)

func Find(s string) (out []Domain) {
	if m := h.FindStringIndex(s); m != nil {
		out = append(out, Domain{Heavy, m[0], m[1]})
	}
	if m := l.FindStringIndex(s); m != nil {
		out = append(out, Domain{Kappa, m[0], m[1]})
	}
	return out
}

package format

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"pleat/api"
)

// detached begins the names that Detach gives, by which messages name the field that the file had.
const detached = "mmcif-inside-"

// MaxDetach bounds the text of one job that Detach makes smaller, in bytes.
const MaxDetach = 64 << 20

// Detach returns a file without the structures inside it, and these by the names that the file has instead. Equal ones
// have one name, which depends on the content alone. AlphaFold 3 JSON is the only format with structures inside; any
// other file is returned as it is. An error is that of Import.
func Detach(text string, as Name) (string, map[string]string, error) {
	if as != "" && as != AlphaFold3 || len(text) > MaxDetach || !strings.Contains(text, `"mmcif"`) {
		return text, nil, nil
	}
	plain := plainText(text)
	if as == "" {
		if found, err := guess(plain); err != nil || found != AlphaFold3 {
			return text, nil, nil // Import says what is wrong with it
		}
	}
	var j af3Job
	if err := api.DecodeAs("the file", []byte(plain), &j); err != nil {
		return "", nil, err
	}
	inside := map[string]string{}
	for i := range j.Sequences {
		if p := j.Sequences[i].Protein; p != nil {
			for k := range p.Templates {
				p.Templates[k].detach(inside)
			}
		}
	}
	if len(inside) == 0 {
		return text, nil, nil
	}
	b, err := api.Encode(j)
	return string(b), inside, err
}

// detach names a structure inside the file instead of having it.
func (t *af3Template) detach(inside map[string]string) {
	if t.CIF == nil || t.CIFPath != nil { // both are an error
		return
	}
	sum := sha256.Sum256([]byte(*t.CIF))
	name := detached + hex.EncodeToString(sum[:8]) + ".cif"
	inside[name] = *t.CIF
	t.CIF, t.CIFPath = nil, &name
}

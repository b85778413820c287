package format

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"pleat/api"
)

// detached and detachedCCD begin the names that Detach gives, by which messages name the field that the file had.
const (
	detached    = "mmcif-inside-"
	detachedCCD = "userCCD-inside-"
)

// MaxDetach bounds the text of one job that Detach makes smaller, in bytes.
const MaxDetach = 64 << 20

// Detach returns a file without the structures and the components inside it, and these by the names that the file has
// instead. Equal ones have one name, which depends on the content alone. AlphaFold 3 JSON is the only format that has
// them inside; any other file is returned as it is. An error is that of Import.
func Detach(text string, as Name) (string, map[string]string, error) {
	has := strings.Contains(text, `"mmcif"`) || strings.Contains(text, `"userCCD"`)
	if as != "" && as != AlphaFold3 || len(text) > MaxDetach || !has {
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
	j.detachCCD(inside)
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
	name := detachedName(detached, *t.CIF)
	inside[name] = *t.CIF
	t.CIF, t.CIFPath = nil, &name
}

// detachCCD names the components inside the file instead of having them.
func (j *af3Job) detachCCD(inside map[string]string) {
	if strings.TrimSpace(text(j.UserCCD)) == "" || j.UserCCDPath != nil { // both are an error
		return
	}
	name := detachedName(detachedCCD, *j.UserCCD)
	inside[name] = *j.UserCCD
	j.UserCCD, j.UserCCDPath = nil, &name
}

// detachedName returns the name of a content.
func detachedName(prefix, content string) string {
	sum := sha256.Sum256([]byte(content))
	return prefix + hex.EncodeToString(sum[:8]) + ".cif"
}

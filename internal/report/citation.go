package report

import (
	"cmp"
	"embed"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"

	"pleat"
	"pleat/internal/structure"
)

//go:embed citations/*.bib
var bibliography embed.FS

// Cite returns entries of the embedded bibliography, the files citations/KEY.bib, in the order of the keys. It panics
// if a key has no file: keys are constants of the engines, and a test reads all of them.
func Cite(keys ...string) []pleat.Citation {
	out := make([]pleat.Citation, len(keys))
	for i, key := range keys {
		raw, err := bibliography.ReadFile("citations/" + key + ".bib")
		if err != nil {
			panic(fmt.Sprintf("no citation %q: %v", key, err))
		}
		out[i] = pleat.Citation{Key: key, BibTeX: strings.TrimSuffix(string(raw), "\n")}
	}
	return out
}

// paperOf reads the fields of a BibTeX entry that a structure file cites, in plain ASCII. A field that it lacks, or
// that is not in braces, is empty.
func paperOf(c pleat.Citation) structure.Citation {
	field := func(name string) string { return plainTeX(bibField(c.BibTeX, name)) }
	out := structure.Citation{
		Title:   field("title"),
		Journal: cmp.Or(field("journal"), field("booktitle"), field("publisher")),
		Volume:  field("volume"),
		Year:    field("year"),
		DOI:     field("doi"),
	}
	first, last, _ := strings.Cut(field("pages"), "-")
	out.FirstPage, out.LastPage = first, strings.TrimLeft(last, "-")
	for _, name := range strings.Split(field("author"), " and ") {
		if name = strings.TrimSpace(name); name != "" && name != "others" {
			out.Authors = append(out.Authors, name)
		}
	}
	return out
}

// bibField returns the value of a field of a BibTeX entry without its outer braces.
func bibField(entry, name string) string {
	at := regexp.MustCompile(`(?mi)^\s*` + name + `\s*=\s*\{`).FindStringIndex(entry)
	if at == nil {
		return ""
	}
	depth := 1
	for i := at[1]; i < len(entry); i++ {
		switch entry[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return entry[at[1]:i]
			}
		}
	}
	return ""
}

// An accent of TeX with its letter, such as \v{Z} or \'i, and what remains of TeX in a text.
var (
	texAccent  = regexp.MustCompile(`\\(?:[vucHrkdbt]\b|[\x60'^"~=.])\s*\{?\\?([A-Za-z])\}?`)
	texSpecial = strings.NewReplacer("{", "", "}", "", `\&`, "&", "~", " ", `\o`, "o", `\O`, "O", `\ss`, "ss",
		`\l`, "l")
)

// plainTeX returns a text of TeX without braces, accents and letters that are not ASCII, in one line.
func plainTeX(s string) string {
	s = texSpecial.Replace(texAccent.ReplaceAllString(s, "$1"))
	s = strings.Map(func(r rune) rune {
		if r > '~' || r < ' ' && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, norm.NFD.String(s))
	return strings.Join(strings.Fields(s), " ")
}

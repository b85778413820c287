package report

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"pleat/api"
	"pleat/internal/words"
)

// mvsVersion is the version of MolViewSpec whose nodes are written.
const mvsVersion = "1.8"

// mvsState is a state in the format MolViewSpec: a tree of what is loaded and how it is shown.
type mvsState struct {
	Kind     string      `json:"kind"`
	Root     mvsNode     `json:"root"`
	Metadata mvsMetadata `json:"metadata"`
}

type mvsMetadata struct {
	Title     string `json:"title,omitempty"`
	Timestamp string `json:"timestamp,omitempty"`
	Version   string `json:"version"`
}

// mvsNode is a node of the tree. Params depend on its kind.
type mvsNode struct {
	Kind     string         `json:"kind"`
	Params   map[string]any `json:"params,omitempty"`
	Children []mvsNode      `json:"children,omitempty"`
}

// mvsSelector selects a chain or a range of its residues, by the numbers that PDB files have.
type mvsSelector struct {
	Chain string `json:"auth_asym_id"`
	From  *int   `json:"beg_auth_seq_id,omitempty"`
	To    *int   `json:"end_auth_seq_id,omitempty"`
}

// MolViewSpec returns the view as a state (.mvsj) for Mol* and other viewers that read MolViewSpec.
func (v *View) MolViewSpec() ([]byte, error) {
	var components []mvsNode
	cartoon := mvsNode{Kind: "representation", Params: map[string]any{"type": "cartoon"}}
	for k, list := range v.bands {
		if len(list) > 0 {
			cartoon.Children = append(cartoon.Children, mvsColour(webColour(v.scale.bands[k].Colour), selectors(list)))
		}
	}
	if v.scale == nil {
		polymers := 0
		for _, c := range v.chains {
			if !c.ligand {
				colour := chainColours[polymers%len(chainColours)]
				cartoon.Children = append(cartoon.Children, mvsColour(colour, []mvsSelector{{Chain: c.id}}))
				polymers++
			}
		}
	}
	components = append(components, component("polymer", cartoon))
	stick := mvsNode{Kind: "representation", Params: map[string]any{"type": "ball_and_stick"}}
	for _, c := range v.chains {
		text := "Chain " + plain(c.id)
		if name := plain(c.name); name != "" {
			text += ": " + name
		}
		nodes := []mvsNode{{Kind: "tooltip", Params: map[string]any{"text": text}}}
		if c.ligand {
			nodes = append(nodes, stick)
		}
		components = append(components, component(mvsSelector{Chain: c.id}, nodes...))
	}
	if len(v.touch) > 0 {
		components = append(components, component(selectors(v.touch), stick))
	}
	state := mvsState{
		Kind: "single",
		Root: mvsNode{Kind: "root", Children: []mvsNode{{
			Kind:   "download",
			Params: map[string]any{"url": v.Source},
			Children: []mvsNode{{
				Kind:   "parse",
				Params: map[string]any{"format": v.format},
				Children: []mvsNode{{
					Kind:     "structure",
					Params:   map[string]any{"type": "model"},
					Children: components,
				}},
			}},
		}}},
		Metadata: mvsMetadata{Title: plain(v.title), Version: mvsVersion},
	}
	if !v.Written.IsZero() {
		state.Metadata.Timestamp = v.Written.UTC().Format(time.RFC3339)
	}
	b, err := api.EncodeIndent(state)
	if err != nil {
		return nil, fmt.Errorf("encode the view: %w", err)
	}
	return b, nil
}

// chainColours are the colours of chains without confidence: Okabe and Ito, Color Universal Design (2008).
var chainColours = []string{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"}

// component is a part of the structure, with what is shown of it.
func component(selector any, children ...mvsNode) mvsNode {
	return mvsNode{Kind: "component", Params: map[string]any{"selector": selector}, Children: children}
}

// mvsColour colours parts of what its parent shows.
func mvsColour(colour string, parts []mvsSelector) mvsNode {
	return mvsNode{Kind: "color", Params: map[string]any{"color": colour, "selector": parts}}
}

// selectors returns the selectors of ranges.
func selectors(list []residueRange) []mvsSelector {
	var out []mvsSelector
	for i := range list {
		out = append(out, mvsSelector{list[i].chain, &list[i].from, &list[i].to})
	}
	return out
}

// plain returns a text without what a viewer could take for markup: letters, digits and a few marks remain.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" .,:;+-()/'", r) {
			return r
		}
		return ' '
	}, text)
	return words.Shorten(strings.Join(strings.Fields(text), " "), 100)
}

package analyst

import (
	"slices"
	"strings"
)

// splitTopics cuts a question that names several topics, such as "the charge and the weight of chain B", at the
// connectives between them. A filter that only the last piece has is that of the pieces before it, too, unless they say
// what they are about.
func splitTopics(items []item) [][]item {
	var pieces [][]item
	from := 0
	for i := 1; i < len(items); i++ {
		if !oneOf(items[i].concept, "& or but") || !slices.ContainsFunc(items[from:i], isTopic) {
			continue
		}
		next := i + 1
		for next < len(items) && (oneOf(items[next].concept, "filler it any & ask not of in all has")) {
			next++
		}
		if next == len(items) || !isTopic(items[next]) {
			continue
		}
		pieces = append(pieces, items[from:i])
		from = i + 1
	}
	if len(pieces) == 0 {
		return nil
	}
	pieces = append(pieces, items[from:])
	shared := filterOf(pieces[len(pieces)-1])
	for k, piece := range pieces[:len(pieces)-1] {
		if len(filterOf(piece)) == 0 && !slices.ContainsFunc(piece, func(it item) bool {
			return oneOf(it.concept,
				"structure protein it")
		}) {
			pieces[k] = slices.Concat(piece, shared)
		}
	}
	return pieces
}

// isTopic says whether an item names what is asked, or what no structure can tell.
func isTopic(it item) bool {
	return isOutside(it) || !soft(it.concept) && !oneOf(it.concept,
		"not contact around closest more longest shortest") || oneOf(it.concept, "helix strand")
}

// filterOf returns the items of a piece from its first entity on.
func filterOf(items []item) []item {
	topic := false
	for i, it := range items {
		if isEntity(it) && topic {
			from := i
			for from > 0 && oneOf(items[from-1].concept, "in of not @nth residue all") {
				from--
			}
			return items[from:]
		}
		topic = topic || isTopic(it)
	}
	return nil
}

// isEntity says whether an item belongs to a filter.
func isEntity(it item) bool {
	return strings.HasPrefix(it.concept, "@") && !oneOf(it.concept, "@ph @atom") || oneOf(it.concept,
		"helix strand buried exposed coil turn")
}

// splitNouns cuts "the lysines of chain A and the arginines of chain B" into two questions: both nouns have filters of
// the same kind. Where only the first one has, it is not clear whether it holds for both.
func splitNouns(items []item) (pieces [][]item, problem string) {
	if slices.ContainsFunc(items, func(it item) bool { return oneOf(it.concept, "more not distance") }) {
		return nil, ""
	}
	first := slices.IndexFunc(items, isNoun)
	if first < 0 {
		return nil, ""
	}
	for i := first + 1; i < len(items); i++ {
		if !oneOf(items[i].concept, "& or") {
			continue
		}
		right := items[i+1:]
		if k := slices.IndexFunc(right, isMeaningfulEntity); k < 0 || !isNoun(right[k]) {
			continue
		}
		left, rest := filtersIn(items[first:i]), filtersIn(right)
		switch {
		case len(left) > 0 && len(rest) == 0:
			return nil, "It is not clear whether “" + textOf(right) + "” is about the same residues as what stands " +
				"before it; please ask it in two questions."
		case slices.ContainsFunc(left, func(p property) bool { return slices.Contains(rest, p) }):
			return [][]item{items[:i], slices.Concat(items[:first], right)}, ""
		}
	}
	return nil, ""
}

func isNoun(it item) bool { return oneOf(it.concept, "@name @class") }

// isMeaningfulEntity skips what may stand before a noun.
func isMeaningfulEntity(it item) bool { return !oneOf(it.concept, "filler of in all any") }

// filtersIn lists the properties of the filters in a piece; a relation counts as one.
func filtersIn(items []item) (out []property) {
	for _, it := range items {
		switch {
		case it.concept == "@chain":
			out = append(out, ofChain)
		case it.concept == "@residue":
			out = append(out, ofPlace)
		case oneOf(it.concept, "helix strand coil turn threeten pihelix"):
			out = append(out, ofState)
		case oneOf(it.concept, "buried exposed surface"):
			out = append(out, ofSurface)
		case it.concept == "@limit":
			out = append(out, ofLimit)
		case oneOf(it.concept, "@radius contact around closest"):
			out = append(out, ofDistance)
		}
	}
	return out
}

package edit

import "slices"

// replacement puts text in the place of the bytes start to end.
type replacement struct {
	start, end int
	text       []byte
}

// mostText bounds a text while it is edited: UTF-16 takes up to 1.5 times as much in UTF-8.
const mostText = 2 * MaxBytes

// splice applies list, which is in order and without overlap.
func splice(b []byte, list []replacement) ([]byte, error) {
	size := len(b)
	for _, s := range list {
		if size += len(s.text) - (s.end - s.start); size > mostText {
			return nil, tooLarge("the file after the edit", int64(size))
		}
	}
	out := make([]byte, 0, max(size, 0))
	at := 0
	for _, s := range list {
		out = append(out, b[at:s.start]...)
		out = append(out, s.text...)
		at = s.end
	}
	return append(out, b[at:]...), nil
}

// region says that the bytes a0 to a1 of the text before all hunks became b0 to b1 of the text now. All else is equal.
type region struct{ a0, a1, b0, b1 int }

// compose gives the regions after list was applied too. Regions that touch become one.
func compose(regions []region, list []replacement) []region {
	// Both lists are put into one, in the order of the text between them, with what each does to the lengths there.
	type change struct{ start, end, before, after int } // before: length in the old text; after: in the new one
	all := make([]change, 0, len(regions)+len(list))
	for i, j := 0, 0; i < len(regions) || j < len(list); {
		if j == len(list) || i < len(regions) && regions[i].b0 <= list[j].start {
			r := regions[i]
			all = append(all, change{r.b0, r.b1, r.a1 - r.a0, r.b1 - r.b0})
			i++
		} else {
			s := list[j]
			all = append(all, change{s.start, s.end, s.end - s.start, len(s.text)})
			j++
		}
	}
	out := slices.Grow([]region(nil), len(all))
	toA, toB := 0, 0 // add to a place between regions to get its place in the old and the new text
	for i := 0; i < len(all); {
		start, end := all[i].start, all[i].end
		dA, dB := 0, 0
		for ; i < len(all) && all[i].start <= end; i++ {
			end = max(end, all[i].end)
			dA += all[i].before - (all[i].end - all[i].start)
			dB += all[i].after - (all[i].end - all[i].start)
		}
		out = append(out, region{start + toA, end + toA + dA, start + toB, end + toB + dB})
		toA += dA
		toB += dB
	}
	return out
}

package agent

import (
	"slices"

	"github.com/heddle-network/heddle/names"
)

// fewNames is how many endpoints of a network are in one file. Those of a network that has more are in nameParts
// files, so that a change does not write them all; until they are so few again that they fit well into one.
const fewNames = 512

// writeParts writes the files of a table that differ from what was written, and notes what it wrote in next.
func (t *nameTables) writeParts(next *nameTable, old nameTable, own *ownNames, c changed) error {
	count := own.count + len(next.others)
	next.parts = make([][]names.Endpoint, 1)
	if count > fewNames || len(old.parts) > 1 && count > fewNames/4 {
		next.parts = make([][]names.Endpoint, nameParts)
	}
	anew := len(next.parts) != len(old.parts) || !next.is.Equal(old.is)
	if len(next.parts) == 1 {
		next.parts[0] = slices.Concat(own.list(everyPart()...), next.others)
		if !anew && slices.EqualFunc(next.parts[0], old.parts[0], names.Endpoint.Equal) {
			return nil
		}
		if err := t.writePart(t.path(next.is.ID), next.is, next.parts[0]); err != nil {
			return err
		}
		if len(old.parts) != 1 { // an earlier agent may have left parts
			return t.removeParts(next.is.ID)
		}
		return nil
	}
	if !anew {
		copy(next.parts, old.parts)
	}
	for part, is := range changedParts(next, own, c, anew) {
		if !anew && slices.EqualFunc(is, old.parts[part], names.Endpoint.Equal) {
			continue
		}
		if err := t.writePart(t.partPath(next.is.ID, part), next.is, is); err != nil {
			return err
		}
		next.parts[part] = is
	}
	if anew { // last: it has had all endpoints
		return t.writePart(t.path(next.is.ID), next.is, nil)
	}
	return nil
}

// changedParts lists the endpoints of the parts in which something may have changed.
func changedParts(next *nameTable, own *ownNames, c changed, anew bool) map[int][]names.Endpoint {
	parts := map[int][]names.Endpoint{}
	if !anew && !c.all {
		for id := range c.ids {
			parts[namePart(id)] = nil
		}
		for part := range parts {
			others := slices.DeleteFunc(slices.Clone(next.parts[part]), func(e names.Endpoint) bool { return e.Host == "" })
			parts[part] = append(own.list(part), others...)
		}
		return parts
	}
	for part := range nameParts {
		parts[part] = own.list(part)
	}
	for _, e := range next.others {
		part := namePart(e.ID)
		parts[part] = append(parts[part], e)
	}
	return parts
}

func everyPart() (all []int) {
	for part := range nameParts {
		all = append(all, part)
	}
	return all
}

func (t *nameTables) writePart(path string, is names.Network, endpoints []names.Endpoint) error {
	is.Endpoints = endpoints
	return t.replace(path, is)
}

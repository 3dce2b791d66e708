package heddle

import "testing"

// TestDeletedGroup: no network is in the group of what is being deleted, and others have the group of their hash.
func TestDeletedGroup(t *testing.T) {
	for n := range uint32(4) {
		group := unreserved(GroupBase + n)
		if group == DeletedGroup || n != 1 && group != GroupBase+n {
			t.Errorf("group %#x becomes %#x", GroupBase+n, group)
		}
	}
}

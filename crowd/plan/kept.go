package plan

import (
	"container/list"
	"time"

	"github.com/heddle-network/heddle/crowd/scenario"
)

// objectName names an object of a page, from 0, or of a site, whose page is 0.
type objectName struct {
	pageName
	number int
}

// object is one that is kept. Times are since the crowd began.
type object struct {
	name objectName
	size int64
	// fresh is for how long it is not asked for after the service was heard of it; freshUntil is when that ends.
	fresh, freshUntil time.Duration
	// changes is when the service has another version.
	changes time.Duration
}

// kept is a cache with room for so many bytes. What was used longest ago goes first.
type kept struct {
	room, used int64
	all        map[objectName]*list.Element
	order      *list.List // of objects, the one that was used last in front
}

func newKept(room int64) *kept {
	return &kept{room: room, all: map[objectName]*list.Element{}, order: list.New()}
}

// use finds an object; nil if it is not there.
func (k *kept) use(name objectName) *object {
	at := k.all[name]
	if at == nil {
		return nil
	}
	k.order.MoveToFront(at)
	return at.Value.(*object)
}

// put keeps an object, in place of an older version. One that takes too much of the room is not kept.
func (k *kept) put(name objectName, o object) {
	k.drop(k.all[name])
	if o.size > k.room/scenario.MaxLargest {
		return
	}
	o.name = name
	k.all[name] = k.order.PushFront(&o)
	for k.used += o.size; k.used > k.room; {
		k.drop(k.order.Back())
	}
}

// drop lets an object go, if there is one.
func (k *kept) drop(at *list.Element) {
	if at == nil {
		return
	}
	o := k.order.Remove(at).(*object)
	k.used -= o.size
	delete(k.all, o.name)
}

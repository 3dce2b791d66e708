package resolver

import (
	"errors"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// watch tells that files of a folder have changed. A nil one never does.
type watch struct {
	watcher *fsnotify.Watcher
	changes chan struct{}
}

func newWatch(dir string) (*watch, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	if err := watcher.Add(dir); err != nil {
		return nil, errors.Join(err, watcher.Close())
	}
	w := &watch{watcher, make(chan struct{}, 1)}
	go w.follow()
	return w, nil
}

// follow makes one change of all those that nobody has seen yet.
func (w *watch) follow() {
	for {
		select {
		case e, ok := <-w.watcher.Events:
			if !ok {
				return
			}
			if !ofNetwork(filepath.Base(e.Name)) {
				continue
			}
		case _, ok := <-w.watcher.Errors: // more changes than the kernel kept
			if !ok {
				return
			}
		}
		select {
		case w.changes <- struct{}{}:
		default:
		}
	}
}

func (w *watch) changed() <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.changes
}

// works reports whether the folder is watched.
func (w *watch) works() bool { return w != nil && len(w.watcher.WatchList()) > 0 }

func (w *watch) close() error {
	if w == nil {
		return nil
	}
	return w.watcher.Close()
}

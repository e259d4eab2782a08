package search

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

func newWatch(folders []string, proof string, heard func()) watcher {
	return watchTrees(fileEvents, folders, proof, heard)
}

// From CFString.h, FSEvents.h.
const (
	utf8Encoding = 0x08000100
	sinceNow     = 0xFFFFFFFFFFFFFFFF // kFSEventStreamEventIdSinceNow
	createFlags  = 0x02 | 0x04 | 0x10 // NoDefer, WatchRoot, FileEvents
	historyDone  = 0x10
	eventLatency = 0.2 // seconds
	eventsLost   = 0x01 | 0x02 | 0x04 | 0x08 | 0x20 | 0x40 | 0x80
	// of that: MustScanSubDirs, UserDropped, KernelDropped, EventIdsWrapped, RootChanged, Mount, Unmount
)

// fsevents are the functions of the system (FSEvents.h, CoreFoundation, dispatch/queue.h).
type fsevents struct {
	create     func(allocator, callback uintptr, context unsafe.Pointer, paths uintptr, since uint64, latency float64, flags uint32) uintptr
	setQueue   func(stream, queue uintptr)
	start      func(stream uintptr) bool
	stop       func(stream uintptr)
	invalidate func(stream uintptr)
	release    func(stream uintptr)
	makeString func(allocator uintptr, text string, encoding uint32) uintptr
	makeArray  func(allocator uintptr, values unsafe.Pointer, n int, callbacks uintptr) uintptr
	letGo      func(object uintptr)
	makeQueue  func(label string, attributes uintptr) uintptr
	retaining  uintptr // &kCFTypeArrayCallBacks
	callback   uintptr
}

var system = sync.OnceValues(func() (*fsevents, error) {
	s := new(fsevents)
	for _, from := range []struct {
		library string
		names   map[string]any
	}{
		{"/System/Library/Frameworks/CoreServices.framework/CoreServices", map[string]any{"FSEventStreamCreate": &s.create, "FSEventStreamSetDispatchQueue": &s.setQueue, "FSEventStreamStart": &s.start,
			"FSEventStreamStop": &s.stop, "FSEventStreamInvalidate": &s.invalidate, "FSEventStreamRelease": &s.release}},
		{"/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation", map[string]any{"CFStringCreateWithCString": &s.makeString, "CFArrayCreate": &s.makeArray, "CFRelease": &s.letGo,
			"kCFTypeArrayCallBacks": &s.retaining}},
		{"/usr/lib/libSystem.B.dylib", map[string]any{"dispatch_queue_create": &s.makeQueue}},
	} {
		lib, err := purego.Dlopen(from.library, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			return nil, fmt.Errorf("watching folders: %w", err)
		}
		for name, to := range from.names {
			symbol, err := purego.Dlsym(lib, name)
			if err != nil {
				return nil, fmt.Errorf("watching folders: %w", err)
			}
			if at, ok := to.(*uintptr); ok {
				*at = symbol
			} else {
				purego.RegisterFunc(to, symbol)
			}
		}
	}
	s.callback = purego.NewCallback(told) // one for all streams: it is never let go
	return s, nil
})

// tellers are whom the streams tell, by the number that each has for its info. Streams that were stopped aren't there any more.
var tellers struct {
	sync.Mutex
	last uintptr
	by   map[uintptr]func(path string, lost bool)
}

// told is FSEventStreamCallback. It is called on a thread of the system's; paths are C strings and flags numbers, n of each, which are
// good until it returns.
func told(_, info, n uintptr, paths, flags, _ unsafe.Pointer) uintptr {
	tellers.Lock()
	tell := tellers.by[info]
	tellers.Unlock()
	if tell == nil || n == 0 || paths == nil || flags == nil {
		return 0
	}
	names, of := unsafe.Slice((**byte)(paths), n), unsafe.Slice((*uint32)(flags), n)
	for i, name := range names {
		if of[i]&historyDone == 0 { // that is about no file
			tell(unix.BytePtrToString(name), of[i]&eventsLost != 0)
		}
	}
	return 0
}

// fileEvents is a source: FSEvents.
func fileEvents(folders []string, tell func(path string, lost bool)) (stop func(), err error) {
	s, err := system()
	if err != nil {
		return nil, err
	}
	var list []uintptr
	defer func() {
		for _, text := range list {
			s.letGo(text)
		}
	}()
	for _, f := range folders {
		text := s.makeString(0, f, utf8Encoding)
		if text == 0 {
			return nil, fmt.Errorf("watching %q: its name can't be told", f)
		}
		list = append(list, text)
	}
	array := s.makeArray(0, unsafe.Pointer(&list[0]), len(list), s.retaining)
	if array == 0 {
		return nil, errors.New("watching folders: no memory")
	}
	defer s.letGo(array)
	tellers.Lock()
	if tellers.by == nil {
		tellers.by = make(map[uintptr]func(string, bool))
	}
	tellers.last++
	id := tellers.last
	tellers.by[id] = tell
	tellers.Unlock()
	forget := func() {
		tellers.Lock()
		delete(tellers.by, id)
		tellers.Unlock()
	}
	context := [5]uintptr{1: id} // FSEventStreamContext, which is copied: version, info, retain, release, copyDescription
	stream := s.create(0, s.callback, unsafe.Pointer(&context[0]), array, sinceNow, eventLatency, createFlags)
	if stream == 0 {
		forget()
		return nil, errors.New("watching folders: no stream of events")
	}
	queue := eventQueue()
	if queue == 0 {
		s.release(stream)
		forget()
		return nil, errors.New("watching folders: no queue for events")
	}
	s.setQueue(stream, queue)
	if !s.start(stream) {
		s.invalidate(stream)
		s.release(stream)
		forget()
		return nil, errors.New("watching folders: the stream of events doesn't start")
	}
	return func() {
		forget()
		s.stop(stream)
		s.invalidate(stream)
		s.release(stream)
	}, nil
}

// eventQueue is where streams call back, one after the other. It stays.
var eventQueue = sync.OnceValue(func() uintptr {
	s, err := system()
	if err != nil {
		return 0
	}
	return s.makeQueue("handrail.search", 0)
})

// A sink plugin for Penstock in Go: appends each event as a line to a file.
//
// sink.go is the sink, in Go alone. This file and plugin.c connect it with the host.
package main

// #cgo CFLAGS: -std=c11 -Wall -I${SRCDIR}/../../../Sources/CPenstockPlugin/include
// #include "plugin.h"
import "C"

import (
	"fmt"
	"runtime/cgo"
	"unsafe"
)

// A shared library's main is never called.
func main() {}

//export goCreate
func goCreate(settings *C.char, text *C.char, size C.size_t) C.uintptr_t {
	sink, err := newSink([]byte(C.GoString(settings)))
	if err != nil {
		answer(err, text, size)
		return 0
	}
	return C.uintptr_t(cgo.NewHandle(sink))
}

//export goConnect
func goConnect(handle C.uintptr_t, text *C.char, size C.size_t) (status C.int32_t) {
	defer catch(&status, text, size)
	return answer(sinkOf(handle).connect(), text, size)
}

//export goDeliver
func goDeliver(
	handle C.uintptr_t, host *C.penstock_host, batch *C.penstock_batch, text *C.char, size C.size_t,
) (status C.int32_t) {
	defer catch(&status, text, size)
	payloads := make([][]byte, batch.count)
	for i := range payloads {
		// The host says how far the events are apart: a newer host's events are larger.
		place := unsafe.Add(unsafe.Pointer(batch.events), uintptr(batch.event_stride)*uintptr(i))
		payload := (*C.penstock_event)(place).payload
		// The host's memory, which stays valid until the batch is completed.
		payloads[i] = unsafe.Slice((*byte)(unsafe.Pointer(payload.data)), int(payload.length))
	}
	// Not taken: the host keeps the events, calls connect, and offers them again.
	if err := sinkOf(handle).deliver(payloads); err != nil {
		return answer(err, text, size)
	}
	// One outcome for each event. An event that can never be stored gets PENSTOCK_REJECTED and a reason, in C's memory.
	outcomes := make([]C.penstock_outcome, len(payloads))
	for i := range outcomes {
		outcomes[i].status = C.PENSTOCK_DELIVERED
	}
	C.count_lines(host, C.uint64_t(len(outcomes)))
	C.complete(host, batch.token, &outcomes[0], C.uint32_t(len(outcomes)))
	return C.PENSTOCK_OK
}

//export goFlush
func goFlush(handle C.uintptr_t, text *C.char, size C.size_t) (status C.int32_t) {
	defer catch(&status, text, size)
	return answer(sinkOf(handle).flush(), text, size)
}

//export goDestroy
func goDestroy(handle C.uintptr_t) {
	sinkOf(handle).close()
	cgo.Handle(handle).Delete()
}

func sinkOf(handle C.uintptr_t) *sink { return cgo.Handle(handle).Value().(*sink) }

// answer writes an error into the host's buffer, with a NUL at its end.
func answer(err error, text *C.char, size C.size_t) C.int32_t {
	if err == nil {
		return C.PENSTOCK_OK
	}
	if size > 0 {
		buffer := unsafe.Slice((*byte)(unsafe.Pointer(text)), int(size))
		buffer[copy(buffer[:size-1], err.Error())] = 0
	}
	return C.PENSTOCK_FAILED
}

// catch makes a panic the error of a call. Without it, a panic ends the plugin's process.
func catch(status *C.int32_t, text *C.char, size C.size_t) {
	if problem := recover(); problem != nil {
		*status = answer(fmt.Errorf("panic: %v", problem), text, size)
	}
}

//! A sink plugin for Penstock in Rust, without any crate: appends each event as a line to a file.
//!
//! `sink.rs` is the sink, in safe Rust. This file is what the host calls: it turns the host's pointers into values, and
//! results into the host's codes. `abi.rs` is penstock_plugin.h.

mod abi;
mod line_file;
mod sink;

use abi::{Batch, Host, Instance, Plugin};
use sink::Sink;
use std::ffi::{c_char, c_void, CStr};
use std::mem::size_of;

/// The state of one instance: its `context`. Two destinations with this plugin are two instances.
struct Context {
    host: *const Host,
    sink: Sink,
}

static PLUGIN: Plugin = Plugin {
    struct_size: size_of::<Plugin>() as u32,
    abi_major: abi::MAJOR,
    abi_minor: abi::MINOR,
    name: c"lines-rust".as_ptr(),
    version: c"0.1.0".as_ptr(),
    summary: c"Appends each event as a line to a file".as_ptr(),
    settings_schema: sink::SCHEMA.as_ptr(),
    create,
    // The directory of `path` is permitted because of "format": "path"; the plugin uses nothing else.
    needs: c"".as_ptr(),
};

/// The only symbol that the host looks for. A host with a later minor version is compatible: it knows our structs.
#[no_mangle]
pub extern "C" fn penstock_plugin_entry(host_major: u32, _host_minor: u32) -> *const Plugin {
    if host_major == u32::from(abi::MAJOR) { &PLUGIN } else { std::ptr::null() }
}

/// [worker] Creates an instance. Does no slow I/O: `connect` does.
unsafe extern "C" fn create(
    host: *const Host, settings: *const c_char, out: *mut Instance, error: *mut c_char, error_size: usize,
) -> i32 {
    let sink = match CStr::from_ptr(settings).to_str().map_err(|e| e.to_string()).and_then(Sink::new) {
        Ok(sink) => sink,
        Err(reason) => return fail(&reason, error, error_size),
    };
    let out = &mut *out;
    out.max_in_flight = 1; // batches come in order
    out.max_batch_events = 1000;
    out.max_batch_bytes = 4 << 20;
    out.context = Box::into_raw(Box::new(Context { host, sink })).cast();
    out.connect = Some(connect);
    out.deliver = Some(deliver);
    out.flush = Some(flush);
    out.stop = Some(stop);
    out.destroy = Some(destroy);
    abi::OK
}

/// [worker] Called before the first batch, and again after a `deliver` that failed.
unsafe extern "C" fn connect(context: *mut c_void, error: *mut c_char, error_size: usize) -> i32 {
    answer(context_of(context).sink.connect(), error, error_size)
}

/// [worker] Takes a batch, and settles it before it returns. After an error the batch is not taken: the host keeps its
/// events, calls `connect`, and offers them again.
unsafe extern "C" fn deliver(
    context: *mut c_void, batch: *const Batch, error: *mut c_char, error_size: usize,
) -> i32 {
    let (Context { host, sink }, batch) = (context_of(context), &*batch);
    let outcomes = match sink.deliver(batch.events().map(|event| event.payload.bytes())) {
        Ok(outcomes) => outcomes,
        Err(reason) => return fail(&reason, error, error_size),
    };
    ((**host).counter_add)(*host, c"lines".as_ptr(), outcomes.len() as u64);
    let stride = size_of::<abi::Outcome>() as u32;
    ((**host).complete)(*host, batch.token, outcomes.as_ptr(), outcomes.len() as u32, stride);
    abi::OK
}

/// [worker] Makes delivered events durable. Only then does the host record that it has delivered them.
unsafe extern "C" fn flush(context: *mut c_void, error: *mut c_char, error_size: usize) -> i32 {
    answer(context_of(context).sink.flush(), error, error_size)
}

/// [worker] This plugin has no threads to end.
unsafe extern "C" fn stop(_context: *mut c_void) {}

/// [worker] Called after `stop`; frees the instance.
unsafe extern "C" fn destroy(context: *mut c_void) {
    drop(Box::from_raw(context.cast::<Context>()));
}

/// The host calls one function of an instance at a time, so there is no other reference.
unsafe fn context_of<'call>(context: *mut c_void) -> &'call mut Context {
    &mut *context.cast()
}

unsafe fn answer(result: Result<(), String>, error: *mut c_char, error_size: usize) -> i32 {
    match result {
        Ok(()) => abi::OK,
        Err(reason) => fail(&reason, error, error_size),
    }
}

/// Writes the reason into the host's buffer, with a NUL at its end.
unsafe fn fail(reason: &str, error: *mut c_char, error_size: usize) -> i32 {
    if error_size > 0 {
        let length = reason.len().min(error_size - 1);
        std::ptr::copy_nonoverlapping(reason.as_ptr(), error.cast(), length);
        *error.add(length) = 0;
    }
    abi::FAILED
}

//! penstock_plugin.h in Rust: the same structs, with the same layout. The header describes each field, its thread and
//! the ownership of memory.
//!
//! Only what this plugin uses is public. A field that it does not use keeps its place.

use std::ffi::{c_char, c_void};
use std::mem::{offset_of, size_of};

pub const MAJOR: u16 = 1;
pub const MINOR: u16 = 0;

pub const OK: i32 = 0;
pub const FAILED: i32 = 2;

pub const DELIVERED: i32 = 1;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    /// Not NUL-terminated; may be NULL if `length` is 0.
    pub data: *const u8,
    pub length: usize,
}

#[repr(C)]
pub struct Event {
    position: u64,
    received_at_ns: i64,
    message_id: Text,
    pub payload: Text,
    kind: i32,
    attempt: u32,
    part: u32,
    reserved: u32,
}

#[repr(C)]
pub struct Batch {
    struct_size: u32,
    pub count: u32,
    pub token: u64,
    deadline_ns: i64,
    first_position: u64,
    last_position: u64,
    events: *const u8,
    event_stride: u32,
    reserved: u32,
}

#[repr(C)]
#[derive(Clone)]
pub struct Outcome {
    pub status: i32,
    pub retry_after_ms: u32,
    pub reason: *const c_char,
}

#[repr(C)]
pub struct Host {
    struct_size: u32,
    reserved: u32,
    context: *mut c_void,
    destination: *const c_char,
    journal: *const c_char,
    pub complete: unsafe extern "C" fn(*const Host, u64, *const Outcome, u32, u32),
    ready: unsafe extern "C" fn(*const Host),
    log_enabled: unsafe extern "C" fn(*const Host, i32) -> i32,
    log: unsafe extern "C" fn(*const Host, i32, *const c_char, *const c_void, u32),
    pub counter_add: unsafe extern "C" fn(*const Host, *const c_char, u64),
    gauge_set: unsafe extern "C" fn(*const Host, *const c_char, f64),
    extension: unsafe extern "C" fn(*const Host, *const c_char) -> *const c_void,
}

pub type Call = unsafe extern "C" fn(*mut c_void, *mut c_char, usize) -> i32;
pub type Deliver = unsafe extern "C" fn(*mut c_void, *const Batch, *mut c_char, usize) -> i32;
pub type Create = unsafe extern "C" fn(*const Host, *const c_char, *mut Instance, *mut c_char, usize) -> i32;

/// `None` is NULL: Rust guarantees it for an optional function pointer.
#[repr(C)]
pub struct Instance {
    struct_size: u32,
    pub max_in_flight: u32,
    pub max_batch_events: u32,
    reserved: u32,
    pub max_batch_bytes: u64,
    pub context: *mut c_void,
    pub connect: Option<Call>,
    pub deliver: Option<Deliver>,
    pub flush: Option<Call>,
    pub stop: Option<unsafe extern "C" fn(*mut c_void)>,
    pub destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    extension: Option<unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_void>,
}

#[repr(C)]
pub struct Plugin {
    pub struct_size: u32,
    pub abi_major: u16,
    pub abi_minor: u16,
    pub name: *const c_char,
    pub version: *const c_char,
    pub summary: *const c_char,
    pub settings_schema: *const c_char,
    pub create: Create,
    pub needs: *const c_char,
}

// SAFETY: the table is constant, and its pointers point to constants.
unsafe impl Sync for Plugin {}

impl Text {
    /// # Safety
    /// The text comes from the host, and the batch that it belongs to is not completed while the result is used.
    pub unsafe fn bytes<'batch>(self) -> &'batch [u8] {
        // A slice's pointer is never NULL, even if the slice is empty.
        if self.length == 0 {
            return &[];
        }
        std::slice::from_raw_parts(self.data, self.length)
    }
}

impl Batch {
    /// The events. The host says how far they are apart: a newer host's events are larger.
    ///
    /// # Safety
    /// The batch comes from the host, and is not completed while an event is used.
    pub unsafe fn events(&self) -> impl Iterator<Item = &Event> {
        (0..self.count as usize).map(|i| &*self.events.add(i * self.event_stride as usize).cast::<Event>())
    }
}

// The layout: penstock_plugin.h is for 64-bit machines. If one of these fails, a field is missing or in the wrong place.
const _: () = {
    assert!(size_of::<Text>() == 16);
    assert!(size_of::<Event>() == 64 && offset_of!(Event, payload) == 32 && offset_of!(Event, part) == 56);
    assert!(size_of::<Batch>() == 56 && offset_of!(Batch, token) == 8 && offset_of!(Batch, event_stride) == 48);
    assert!(size_of::<Outcome>() == 16 && offset_of!(Outcome, reason) == 8);
    assert!(size_of::<Host>() == 88 && offset_of!(Host, complete) == 32 && offset_of!(Host, counter_add) == 64);
    assert!(size_of::<Instance>() == 80 && offset_of!(Instance, connect) == 32);
    assert!(size_of::<Plugin>() == 56 && offset_of!(Plugin, create) == 40 && offset_of!(Plugin, needs) == 48);
};

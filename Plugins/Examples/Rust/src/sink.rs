//! The sink of one destination.

use crate::abi::{Outcome, DELIVERED};
use crate::line_file::LineFile;
use std::ffi::CStr;

/// The JSON Schema of the settings. The host checks them before it creates an instance.
pub const SCHEMA: &CStr = cr#"{"type": "object", "required": ["path"], "additionalProperties": false,
    "properties": {"path": {"type": "string", "minLength": 1, "format": "path",
        "description": "the file to append to; it is created if it is missing"}}}"#;

pub struct Sink {
    path: String,
    /// `None`: not open.
    file: Option<LineFile>,
    /// A sync has failed: events that were reported as delivered may be lost.
    is_broken: bool,
}

impl Sink {
    pub fn new(settings: &str) -> Result<Sink, String> {
        let path = read_path(settings)
            .ok_or("settings.path: give the path of a file, without control characters")?;
        Ok(Sink { path, file: None, is_broken: false })
    }

    pub fn connect(&mut self) -> Result<(), String> {
        self.file = None;
        self.file = Some(LineFile::open(&self.path).map_err(|e| format!("cannot open {}: {e}", self.path))?);
        Ok(())
    }

    /// Returns one outcome for each event. After an error, lines that were written before it are written a second time
    /// when the host offers the batch again: at least once.
    pub fn deliver<'batch>(&mut self, payloads: impl Iterator<Item = &'batch [u8]>) -> Result<Vec<Outcome>, String> {
        let file = self.file.as_mut().ok_or_else(|| format!("{} is not open", self.path))?;
        let (mut lines, mut outcomes) = (Vec::new(), Vec::new());
        for payload in payloads {
            // A payload contains no line feed.
            lines.extend_from_slice(payload);
            lines.push(b'\n');
            outcomes.push(Outcome { status: DELIVERED, retry_after_ms: 0, reason: std::ptr::null() });
        }
        file.append(&lines).map_err(|e| format!("cannot write to {}: {e}", self.path))?;
        Ok(outcomes)
    }

    pub fn flush(&mut self) -> Result<(), String> {
        // After a failed sync, the kernel may drop the data and report success next time. So this fails until the
        // plugin is started again: the host then offers every event after the last successful flush.
        if self.is_broken {
            return Err(format!("an earlier sync of {} failed: start the daemon again", self.path));
        }
        let Some(file) = &self.file else { return Ok(()) };
        file.sync().map_err(|e| {
            self.is_broken = true;
            format!("cannot sync {}: {e}", self.path)
        })
    }
}

/// The value of "path" in {"path":"…"}. The schema allows no other settings, so this suffices as a parser; a plugin with
/// more settings needs a JSON parser. `None` if there is none, or if it has an escape such as \n or \u0000.
fn read_path(settings: &str) -> Option<String> {
    let (_, after) = settings.split_once("\"path\"")?;
    let (_, value) = after.split_once('"')?;
    let (mut path, mut characters) = (String::new(), value.chars());
    loop {
        match characters.next()? {
            '"' => return Some(path),
            '\\' => match characters.next()? {
                c @ ('"' | '\\' | '/') => path.push(c),
                _ => return None,
            },
            c => path.push(c),
        }
    }
}

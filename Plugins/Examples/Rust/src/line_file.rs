//! A file to which lines are appended.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;

pub struct LineFile {
    file: File,
}

impl LineFile {
    pub fn open(path: &str) -> io::Result<LineFile> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o640).open(path)?;
        // A write that was cut off, by a full disk or a crash, leaves part of a line. End that line, so that the next
        // event has a line of its own.
        if file.seek(SeekFrom::End(0))? > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(b"\n")?;
            }
        }
        Ok(LineFile { file })
    }

    pub fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.file.write_all(lines)
    }

    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

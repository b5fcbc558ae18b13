package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// sink is the sink of one destination. The host calls its methods one at a time.
type sink struct {
	path string
	// nil: not open.
	file *os.File
	// A sync has failed: events that were reported as delivered may be lost.
	broken bool
}

// newSink reads the settings, which the host has checked against the schema.
func newSink(settings []byte) (*sink, error) {
	var values struct {
		Path string `json:"path"`
	}
	if err := json.Unmarshal(settings, &values); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return &sink{path: values.Path}, nil
}

func (s *sink) connect() error {
	s.close()
	file, err := os.OpenFile(s.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o640)
	if err != nil {
		return fmt.Errorf("cannot open the file: %w", err)
	}
	if err := endLastLine(file); err != nil {
		file.Close()
		return fmt.Errorf("cannot continue the file: %w", err)
	}
	s.file = file
	return nil
}

// deliver appends the payloads, which contain no line feeds. After an error, lines that were written before it are
// written a second time when the host offers the batch again: at least once.
func (s *sink) deliver(payloads [][]byte) error {
	if s.file == nil {
		return fmt.Errorf("%s is not open", s.path)
	}
	var lines []byte
	for _, payload := range payloads {
		lines = append(lines, payload...)
		lines = append(lines, '\n')
	}
	if _, err := s.file.Write(lines); err != nil {
		return fmt.Errorf("cannot write the events: %w", err)
	}
	return nil
}

// flush makes delivered events durable. Only then does the host record that it has delivered them.
func (s *sink) flush() error {
	// After a failed sync, the kernel may drop the data and report success next time. So this fails until the plugin is
	// started again: the host then offers every event after the last successful flush.
	if s.broken {
		return fmt.Errorf("an earlier sync of %s failed: start the daemon again", s.path)
	}
	if s.file == nil {
		return nil
	}
	if err := s.file.Sync(); err != nil {
		s.broken = true
		return fmt.Errorf("cannot sync the events: %w", err)
	}
	return nil
}

func (s *sink) close() {
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}

// endLastLine ends a line that a write left behind that was cut off, by a full disk or a crash. So the next event has a
// line of its own.
func endLastLine(file *os.File) error {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := file.ReadAt(last, size-1); err != nil {
		return err
	}
	if last[0] != '\n' {
		_, err = file.Write([]byte{'\n'})
	}
	return err
}

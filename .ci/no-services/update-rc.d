#!/bin/sh
. "${0%/*}/systemctl"

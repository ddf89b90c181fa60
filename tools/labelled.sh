#!/usr/bin/env bash
# Runs a command with a word before each line that it prints, for output that stands beside another's: labelled.sh WORD COMMAND...
set -euo pipefail
word=$1
shift
"$@" 2>&1 | sed -u "s/^/$word | /"

#!/usr/bin/env node
// Apart from the build, so that npm links it in a fresh clone, too.
import '../dist/cli.js';

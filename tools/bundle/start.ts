#!/usr/bin/env node
import { compileBundle, runBundle } from './script.ts'

/* Entry point of release programs: `portcullis.mjs` runs `portcullis.cjs` in the same folder. */
runBundle(compileBundle(import.meta.filename.replace(/\.mjs$/, '.cjs')))

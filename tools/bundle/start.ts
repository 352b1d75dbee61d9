#!/usr/bin/env node
import { compileBundle, runBundle } from './script.ts'

/* The programs of a release begin here: `portcullis.mjs` runs `portcullis.cjs` beside it. */
const { setFlagsFromString } = process.getBuiltinModule('node:v8')

const bundle = compileBundle(import.meta.filename.replace(/\.mjs$/, '.cjs'))
// What a start makes stays: room for garbage would be taken that nobody needs before traffic.
setFlagsFromString('--semi-space-growth-factor=1')
runBundle(bundle)
setFlagsFromString('--semi-space-growth-factor=2')

#!/usr/bin/env node
import { isMainThread } from 'node:worker_threads'
import { deferOptimization } from '../../src/cli/startup-memory.ts'
import { compileBundle, runBundle } from './script.ts'

/* The programs of a release begin here: `portcullis.mjs` runs `portcullis.cjs` beside it. */
const bundle = compileBundle(import.meta.filename.replace(/\.mjs$/, '.cjs'))
// Not before: V8 rejects code that was made with other settings. They are those of the process.
if (isMainThread) deferOptimization()
runBundle(bundle)

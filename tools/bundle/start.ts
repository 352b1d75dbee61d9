#!/usr/bin/env node
import { isMainThread } from 'node:worker_threads'
import { deferOptimization } from '../../src/cli/startup-memory.ts'
import { compileBundle, runBundle } from './script.ts'

/* Entry point of release programs: `portcullis.mjs` runs `portcullis.cjs` in the same folder. */
const bundle = compileBundle(import.meta.filename.replace(/\.mjs$/, '.cjs'))
// Not earlier: V8 rejects code that was compiled with other flags. Flags are per process.
if (isMainThread) deferOptimization()
runBundle(bundle)

import { getAsset, getRawAsset } from 'node:sea'
import { isMainThread } from 'node:worker_threads'
import { deferOptimization } from '../../src/cli/startup-memory.ts'
import { compileText, runBundle } from './script.ts'

/* A release in one file begins here; the program and what it reads are assets of the file. */
const { execPath } = process
const [, , ...args] = process.argv
// Processes that the program starts of itself name it first, as they would a script.
if (args[0] === execPath) args.shift()
process.argv = [execPath, execPath, ...args]

const text = Buffer.from(getRawAsset('portcullis.cjs'))
const code = codeAsset()
const bundle = compileText(execPath, text, code)
// Not before: V8 rejects code that was made with other settings. They are those of the process.
if (isMainThread) deferOptimization()
runBundle(bundle)

function codeAsset(): Buffer | undefined {
  try {
    return Buffer.from(getAsset('portcullis.code'))
  } catch {
    // Made for another platform: V8 compiles the text.
    return undefined
  }
}

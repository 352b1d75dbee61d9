import { getAsset, getRawAsset } from 'node:sea'
import { compileText, runBundle } from './script.ts'

/* Entry point of a single-file release; the program and the files it reads are its assets. */
const { execPath } = process
const [, , ...args] = process.argv
// When the program spawns itself, it passes its own path first, as if it were a script.
if (args[0] === execPath) args.shift()
process.argv = [execPath, execPath, ...args]

const text = Buffer.from(getRawAsset('portcullis.cjs'))
const code = codeAsset()
runBundle(compileText(execPath, text, code))

function codeAsset(): Buffer | undefined {
  try {
    return Buffer.from(getAsset('portcullis.code'))
  } catch {
    // The release was built on another platform, without code: V8 compiles the text.
    return undefined
  }
}

import { constants, Script } from 'node:vm'

const { createHash } = process.getBuiltinModule('node:crypto')
const { readFileSync, writeFileSync } = process.getBuiltinModule('node:fs')
const { createRequire } = process.getBuiltinModule('node:module')
const { dirname } = process.getBuiltinModule('node:path')
const { pathToFileURL } = process.getBuiltinModule('node:url')

/** What Node puts around CommonJS; here it stands in the text. */
export const HEAD = '(function (exports, require, module, __filename, __dirname, __url) {'
export const FOOT = '})'

/** A program of a release: its text, compiled. */
export interface Bundle {
  readonly file: string
  readonly script: Script
}

/**
 * Compiles the text, or takes what V8 made of it when it was released, at a fifth of the time.
 * Where V8 is another one, or the code is not of this very text, the text alone is used.
 */
export function compileBundle(file: string): Bundle {
  const text = readFileSync(file)
  const cachedData = codeOf(file, text)
  // As it is: each change of it would be another copy in memory.
  const script = new Script(text.toString('latin1'), {
    filename: file,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    ...(cachedData === undefined ? {} : { cachedData }),
  })
  return { file, script }
}

export function runBundle({ file, script }: Bundle): void {
  const module = { exports: {} }
  const url = pathToFileURL(file).href
  script.runInThisContext()(module.exports, createRequire(file), module, file, dirname(file), url)
}

/** To be called when the program has run, so that the code is of what a start needs. */
export function writeCode({ file, script }: Bundle): void {
  const code = script.createCachedData()
  writeFileSync(codeFile(file), Buffer.concat([digestOf(readFileSync(file), code), code]))
}

const codeFile = (file: string) => file.replace(/\.cjs$/, '.code')

/** V8 itself looks only at the length of the text, and trusts the code. */
function codeOf(file: string, text: Buffer): Buffer | undefined {
  try {
    const all = readFileSync(codeFile(file))
    const code = all.subarray(DIGEST)
    return digestOf(text, code).equals(all.subarray(0, DIGEST)) ? code : undefined
  } catch {
    return undefined
  }
}

const DIGEST = 32

function digestOf(text: Buffer, code: Buffer): Buffer {
  return createHash('sha256').update(text).update(code).digest()
}

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
 * Where V8 or the platform is another one, or the code is not of this very text, the text alone is
 * used. `filename` is what stack traces show, and a part of the code.
 */
export function compileBundle(file: string, filename = file): Bundle {
  return compileText(file, readFileSync(file), readCode(file), filename)
}

/** `code`: as `writeCode` wrote it. */
export function compileText(
  file: string,
  text: Buffer,
  code: Buffer | undefined,
  filename = file,
): Bundle {
  const cachedData = code && checkedCode(text, code)
  // As it is: each change of it would be another copy in memory.
  const script = new Script(text.toString('latin1'), {
    filename,
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

function readCode(file: string): Buffer | undefined {
  try {
    return readFileSync(codeFile(file))
  } catch {
    return undefined
  }
}

/** V8 itself looks only at the length of the text, and trusts the code. */
function checkedCode(text: Buffer, all: Buffer): Buffer | undefined {
  const code = all.subarray(DIGEST)
  return digestOf(text, code).equals(all.subarray(0, DIGEST)) ? code : undefined
}

const DIGEST = 32

/** Of the platform, too: V8 does not look whether code was made for another one. */
function digestOf(text: Buffer, code: Buffer, { platform, arch, version } = process): Buffer {
  const maker = `${platform} ${arch} ${version}\n`
  return createHash('sha256').update(maker).update(text).update(code).digest()
}

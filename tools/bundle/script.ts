import { constants, Script } from 'node:vm'

const { createHash } = process.getBuiltinModule('node:crypto')
const { readFileSync, writeFileSync } = process.getBuiltinModule('node:fs')
const { createRequire } = process.getBuiltinModule('node:module')
const { dirname } = process.getBuiltinModule('node:path')
const { pathToFileURL } = process.getBuiltinModule('node:url')

/** The wrapper that Node puts around CommonJS; here it is part of the text. */
export const HEAD = '(function (exports, require, module, __filename, __dirname, __url) {'
export const FOOT = '})'

/** A compiled program of a release. */
export interface Bundle {
  readonly file: string
  readonly script: Script
}

/**
 * Compiles the text, or uses the code that V8 generated at release time, which takes a fifth of
 * the time. If V8 or the platform differs, or the code does not belong to this exact text, only
 * the text is used. Stack traces show `filename`, which is also part of the code.
 */
export function compileBundle(file: string, filename = file): Bundle {
  return compileText(file, readFileSync(file), readCode(file), filename)
}

/** `code` is the output of `writeCode`. */
export function compileText(
  file: string,
  text: Buffer,
  code: Buffer | undefined,
  filename = file,
): Bundle {
  const cachedData = code && checkedCode(text, code)
  // Unmodified: any change would create another copy in memory.
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

/** Call this after the program has run, so that the code covers what a start needs. */
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

/** V8 itself checks only the length of the text and trusts the code. */
function checkedCode(text: Buffer, all: Buffer): Buffer | undefined {
  const code = all.subarray(DIGEST)
  return digestOf(text, code).equals(all.subarray(0, DIGEST)) ? code : undefined
}

const DIGEST = 32

/** Includes the platform, because V8 does not check for which platform code was compiled. */
function digestOf(text: Buffer, code: Buffer, { platform, arch, version } = process): Buffer {
  const maker = `${platform} ${arch} ${version}\n`
  return createHash('sha256').update(maker).update(text).update(code).digest()
}

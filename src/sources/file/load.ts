import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { NO_PLACES, type Places } from '../../diagnostics/places.ts'
import { type Result, rejection } from '../../diagnostics/result.ts'
import { sentenceOf } from '../../diagnostics/system-error.ts'
import { freeze } from '../../model/freeze.ts'
import type { Model } from '../../model/model.ts'
import type { Settings } from '../../model/settings.ts'
import { runToCompletion } from '../../model/steps.ts'
import type { Environment } from './expand.ts'
import { stampOf } from './file-version.ts'
import { candidatesFrom, namedFiles } from './files.ts'
import type { KnownItems } from './known-items.ts'
import type { NamedFile, ReadText } from './named-files.ts'
import { NotQuick, type ReadOptions, readDocument } from './read.ts'
import { toModel } from './to-model.ts'

export interface LoadOptions {
  /** The name in messages, if different from the path. */
  readonly shownAs?: string
  readonly environment: Environment
  /** Throws NotQuick for a long text that only `yaml` can read, because that is slow. */
  readonly isQuick?: boolean
  /** Reads the files that it names; by default, from disk. */
  readonly readText?: ReadText
  /** The items cached by earlier reads, updated by this one. */
  readonly known?: KnownItems | undefined
}

export interface Loaded {
  readonly result: Result<Model>
  /** The settings of the process, which a file also contains. Undefined if there is no Model. */
  readonly settings: Settings | undefined
  /** The files named in it, which are watched as well. */
  readonly files: readonly NamedFile[]
  /** Where the parts of the Model are in the file. */
  readonly places: Places
  /** SHA-256 of the text, in hexadecimal; undefined if it could not be read. */
  readonly digest?: string | undefined
}

/** A larger file is not a configuration, but a mistake. */
const MAX_BYTES = 64 * 1024 * 1024

/** `yaml` reads this many characters in about twenty milliseconds. */
const MAX_AT_ONCE = 32 * 1024

/** Reads a file, and the files that it names, into a Model. */
export function loadFile(path: string, options: LoadOptions): Loaded {
  return frozen(runToCompletion(loadFileSteps(path, options)))
}

/** The same for a given text; relative paths are resolved against `path`. */
export function loadText(text: string, path: string, options: LoadOptions): Loaded {
  return frozen(runToCompletion(loadTextSteps(text, path, options)))
}

function frozen(loaded: Loaded): Loaded {
  freeze(loaded.result.value)
  freeze(loaded.settings)
  return loaded
}

/** The same in small steps, for callers with other work in between; does not freeze the Model. */
export function* loadFileSteps(path: string, options: LoadOptions): Generator<void, Loaded> {
  const { shownAs = path } = options
  const found = readText(path)
  if ('problem' in found) {
    const origin = { kind: 'file', file: shownAs, line: 1, column: 1 } as const
    const message = `the file cannot be read: ${found.problem}`
    const said = { code: 'PC0201', severity: 'error', message, origin } as const
    return { result: rejection([said]), settings: undefined, files: [], places: NO_PLACES }
  }
  yield
  const loaded = yield* loadTextSteps(found.text, path, options)
  return { ...loaded, digest: createHash('sha256').update(found.text).digest('hex') }
}

function* loadTextSteps(text: string, path: string, options: LoadOptions): Generator<void, Loaded> {
  const mustBeQuick = options.isQuick === true && text.length > MAX_AT_ONCE
  try {
    return yield* loadOnce(text, path, options, 'quickly')
  } catch (error) {
    if (!(error instanceof NotQuick) || mustBeQuick) throw error
  }
  return yield* loadOnce(text, path, options, 'whole')
}

function* loadOnce(
  text: string,
  path: string,
  { shownAs = path, environment, readText: read = readText, known }: LoadOptions,
  how: ReadOptions['how'],
): Generator<void, Loaded> {
  const { value: document, diagnostics } = readDocument(text, { file: shownAs, environment, how })
  yield
  if (document === undefined) {
    return { result: rejection(diagnostics), settings: undefined, files: [], places: NO_PLACES }
  }
  const folder = dirname(resolve(path))
  return yield* toModel(document, { files: namedFiles(candidatesFrom(folder), read), known })
}

export const readText: ReadText = (path) => {
  const stamp = stampOf(path)
  try {
    const bytes = readFileSync(path)
    if (bytes.byteLength > MAX_BYTES) return { stamp, problem: 'it is larger than 64 MiB' }
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return { stamp, text }
  } catch (error) {
    return { stamp, problem: sentenceOf(error) }
  }
}

import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NotStorable, type Stored, toStored } from './values.ts'

/**
 * Inputs that once found a bug or killed a mutant, which the tests that draw inputs replay every
 * time. `NAME.jsonl` has those of the property of that name, one in a line.
 */
export interface Entry {
  /** What it found. */
  readonly note: string
  /** The arguments of the property. */
  readonly input?: readonly Stored[]
  /** Draws the input where `input` is missing; with `path`, fast-check also makes it smaller. */
  readonly seed?: number
  readonly path?: string
}

/** A new counterexample, as a test hands it to the night that runs it. */
export interface Find {
  readonly name: string
  readonly entry: Entry
  readonly error: string
}

/** Longer inputs are stored as the seed that draws them. */
const MAX_INPUT = 60_000

const FOLDER = fileURLToPath(new URL('.', import.meta.url))

export const corpusFile = (name: string, folder = FOLDER): string => join(folder, `${name}.jsonl`)

/** The night leaves the corpus out (FUZZ_CORPUS=off): what it found already would stop each round. */
export function corpusOf(name: string): readonly Entry[] {
  return process.env['FUZZ_CORPUS'] === 'off' ? [] : readCorpus(name)
}

export function readCorpus(name: string, folder = FOLDER): readonly Entry[] {
  const file = corpusFile(name, folder)
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Entry)
}

/** Returns false if the corpus has this input already. */
export function addToCorpus({ name, entry }: Find, folder = FOLDER): boolean {
  const identity = ({ input, seed, path }: Entry) =>
    JSON.stringify(input === undefined ? [seed, path] : input)
  if (readCorpus(name, folder).some((other) => identity(other) === identity(entry))) return false
  appendFileSync(corpusFile(name, folder), `${JSON.stringify(entry)}\n`)
  return true
}

/** Writes a counterexample to the folder FOUND, if it is set, so that the night can keep it. */
export function recordFind(find: Find): void {
  const folder = process.env['FUZZ_FOUND']
  if (folder === undefined) return
  const text = JSON.stringify(find)
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 12)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${find.name}-${hash}.json`), text)
}

/** The input itself if JSON can hold it, or else only what draws it. */
export function entryOf(
  input: readonly unknown[],
  drawn: { readonly seed: number; readonly path: string },
  note: string,
): Entry {
  try {
    const stored = input.map((value) => toStored(value))
    if (JSON.stringify(stored).length <= MAX_INPUT) return { note, input: stored }
  } catch (error) {
    if (!(error instanceof NotStorable)) throw error
  }
  return { note, ...drawn }
}

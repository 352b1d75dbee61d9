import { createHash } from 'node:crypto'
import { dirname, resolve } from 'node:path'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Places } from '../../diagnostics/places.ts'
import { hasErrors, rejection, success } from '../../diagnostics/result.ts'
import type { Document } from '../file/document.ts'
import { DocumentPlaces } from '../file/document-places.ts'
import type { Environment } from '../file/expand.ts'
import { stampOf } from '../file/file-version.ts'
import { candidatesFrom, namedFiles } from '../file/files.ts'
import { type Loaded, loadFileSteps, readText } from '../file/load.ts'
import type { Candidates, ReadText } from '../file/named-files.ts'
import { nameItems } from '../file/part-names.ts'
import { NotQuick, readDocument } from '../file/read.ts'
import { toModel } from '../file/to-model.ts'
import type { KnownResources } from './known-resources.ts'
import { type Merged, mergeResources, type StoredResource } from './merge.ts'
import { overlayDocument } from './overlay.ts'
import { type Resource, type ResourceKey, resourcesOf } from './resources.ts'

/** The contents of the file, without stored edits. */
export interface Baseline {
  readonly file: string
  /** In one piece, with positions: read when it is first needed, because it is large. */
  readonly document: Document
  /** With variables expanded. */
  readonly value: unknown
  /** The same text, perhaps piece by piece, for the positions of single fields. */
  readonly outline: Document
  readonly resources: ReadonlyMap<ResourceKey, Resource>
  /** SHA-256 of the text, in hexadecimal. */
  readonly digest: string
}

interface Known {
  readonly file: string
  readonly environment: Environment
  readonly text: string
  readonly baseline: Baseline
}

/** The last one: the baseline is read for every change and every view of the configuration. */
let known: Known | undefined
/** Milliseconds after which it is forgotten: in a large file it is as large as what is served. */
const KEPT = 30_000
let forgetting: NodeJS.Timeout | undefined

/** Undefined if the file cannot be read; the loader of the file reports the reason. */
export function readBaseline(file: string, environment: Environment): Baseline | undefined {
  const found = readText(file)
  if ('problem' in found) return undefined
  const { text } = found
  clearTimeout(forgetting)
  forgetting = setTimeout(() => {
    known = undefined
  }, KEPT).unref()
  if (known?.file === file && known.environment === environment && known.text === text) {
    return known.baseline
  }
  const read = configurationIn(text, file, environment)
  if (read === undefined) return undefined
  const { value, outline } = read
  const digest = createHash('sha256').update(text).digest('hex')
  let { document } = read
  const baseline: Baseline = {
    ...{ file, value, outline, resources: resourcesOf(value), digest },
    get document() {
      document ??= readDocument(text, { file, environment, how: 'whole' }).value as Document
      return document
    },
  }
  known = { file, environment, text, baseline }
  return baseline
}

/** Without the tree of the whole text, if it can be read piece by piece. */
function configurationIn(
  text: string,
  file: string,
  environment: Environment,
): (Pick<Baseline, 'value' | 'outline'> & { readonly document?: Document }) | undefined {
  const options = { file, environment }
  try {
    const { value: quick } = readDocument(text, { ...options, how: 'quickly' })
    if (quick === undefined) return undefined
    // Only a mapping has lists.
    const sections: [PropertyKey, unknown][] = []
    for (const [key, list] of quick.lists) {
      const items = Array.from({ length: list.length }, (_, index) => list.at(index).value)
      sections.push([key, items])
    }
    const isWhole = sections.length === 0
    const value = isWhole
      ? quick.value
      : { ...(quick.value as object), ...Object.fromEntries(sections) }
    return hasErrors(quick.unfilled()) ? undefined : { value, outline: quick }
  } catch (error) {
    if (!(error instanceof NotQuick)) throw error
  }
  const { value: document } = readDocument(text, { ...options, how: 'whole' })
  if (document === undefined || hasErrors(document.unfilled())) return undefined
  return { value: document.value, outline: document, document }
}

/** Reads the baseline with the stored edits into a Model, in small steps, without freezing it. */
export function* loadMerged(
  file: string,
  environment: Environment,
  stored: readonly StoredResource[],
  known?: KnownResources,
): Generator<void, Loaded> {
  const stamp = stampOf(file)
  const baseline = readBaseline(file, environment)
  yield
  if (baseline === undefined || stored.length === 0) {
    // The file reader reports errors of the file. If there are none, the file has changed since.
    const loaded = yield* loadFileSteps(file, { environment })
    const isSame = stored.length === 0 || loaded.result.value === undefined
    return isSame ? loaded : yield* loadMerged(file, environment, stored, known)
  }
  const loaded = yield* loadOver(baseline, mergeResources(baseline.resources, stored), known)
  return stampOf(file) === stamp ? loaded : yield* loadMerged(file, environment, stored, known)
}

export function* loadOver(
  baseline: Baseline,
  merged: Merged,
  known?: KnownResources,
): Generator<void, Loaded> {
  const document = overlayDocument(baseline.document, merged)
  yield
  const candidates = candidatesFrom(dirname(resolve(baseline.file)))
  const { result, settings, files } = yield* toModel(document, {
    files: namedFiles(candidates, readingOnly(baseline, candidates)),
    known,
  })
  const { value, diagnostics } = result
  const reported = diagnostics.filter((one) => !isSealed(one))
  const digest = baseline.digest
  const rest = { settings, files, places: placesOf(baseline), digest }
  if (value === undefined) return { result: rejection(reported), ...rest }
  return { result: success(value, reported), ...rest }
}

/** Parts of the file; stored resources have fields instead of lines. */
function placesOf({ outline, value }: Baseline): Places {
  let found: Places | undefined
  const open = () => {
    if (found === undefined) nameItems(outline, value)
    return (found ??= new DocumentPlaces(outline))
  }
  return { find: (origin) => open().find(origin), excerptAt: (at) => open().excerptAt(at) }
}

/** Stored credentials are encrypted, so they are not readable where they are stored. */
function isSealed({ code, origin }: Diagnostic): boolean {
  return code === 'PC0504' && origin.kind === 'object'
}

/**
 * Only reads files that the baseline names: permission to edit resources must not grant access to
 * the disk of the gateway.
 */
function readingOnly({ value }: Baseline, candidates: Candidates): ReadText {
  let paths: ReadonlySet<string> | undefined
  return (path) => {
    paths ??= new Set([...namesIn(value)].flatMap(candidates))
    if (paths.has(path)) return readText(path)
    return {
      stamp: '',
      problem: 'stored resources can only refer to files that the baseline file refers to',
    }
  }
}

/** All strings in the value, each of which may be a file name. */
function namesIn(value: unknown, found = new Set<string>()): ReadonlySet<string> {
  if (typeof value === 'string') found.add(value)
  else if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) namesIn(member, found)
  }
  return found
}

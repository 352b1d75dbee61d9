import { createHash } from 'node:crypto'
import { dirname, resolve } from 'node:path'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { hasErrors, rejection, success } from '../../diagnostics/result.ts'
import type { Document } from '../file/document.ts'
import type { Environment } from '../file/expand.ts'
import { stampOf } from '../file/file-version.ts'
import { type Candidates, candidatesFrom, type ReadText } from '../file/files.ts'
import { type Loaded, loadFileSteps, readText } from '../file/load.ts'
import { readDocument } from '../file/read.ts'
import { toModel } from '../file/to-model.ts'
import type { KnownResources } from './known-resources.ts'
import { type Merged, mergeResources, type StoredResource } from './merge.ts'
import { overlayDocument } from './overlay.ts'
import { type Resource, type ResourceKey, resourcesOf } from './resources.ts'

/** The contents of the file, without stored edits. */
export interface Baseline {
  readonly file: string
  readonly document: Document
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

/** Undefined if the file cannot be read; the loader of the file reports the reason. */
export function readBaseline(file: string, environment: Environment): Baseline | undefined {
  const found = readText(file)
  if ('problem' in found) return undefined
  const { text } = found
  if (known?.file === file && known.environment === environment && known.text === text) {
    return known.baseline
  }
  const { value: document } = readDocument(text, { file, environment, how: 'whole' })
  if (document === undefined || hasErrors(document.unfilled())) return undefined
  const digest = createHash('sha256').update(text).digest('hex')
  const baseline = { file, document, resources: resourcesOf(document.value), digest }
  known = { file, environment, text, baseline }
  return baseline
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
    candidates,
    readText: readingOnly(baseline, candidates),
    known,
  })
  const { value, diagnostics } = result
  const reported = diagnostics.filter((one) => !isSealed(one))
  const digest = baseline.digest
  if (value === undefined) return { result: rejection(reported), settings, files, digest }
  return { result: success(value, reported), settings, files, digest }
}

/** Stored credentials are encrypted, so they are not readable where they are stored. */
function isSealed({ code, origin }: Diagnostic): boolean {
  return code === 'PC0504' && origin.kind === 'object'
}

/**
 * Only reads files that the baseline names: permission to edit resources must not grant access to
 * the disk of the gateway.
 */
function readingOnly({ document }: Baseline, candidates: Candidates): ReadText {
  let paths: ReadonlySet<string> | undefined
  return (path) => {
    paths ??= new Set([...namesIn(document.value)].flatMap(candidates))
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

import { create, toBinary } from '@bufbuild/protobuf'
import { hashLanes, hashText, type Lanes } from '../model/hash.ts'
import { canonicalJson } from '../model/json.ts'
import type { Model } from '../model/model.ts'
import { refsIn, resolveSecrets, type SecretRef, secretText } from '../model/secret.ts'
import { runToCompletion } from '../model/steps.ts'
import { decode } from '../protobuf/decode.ts'
import { PartSchema } from '../protobuf/generated/portcullis/xds/v1/part_pb.ts'

/** Secrets are not part of a Model; they are delivered beside it, in no order. */
const SECRETS = 'secrets'

type Section = keyof Model | typeof SECRETS

/**
 * How each section of a Model is delivered: one resource for each of its things, or one for the
 * whole section. A new section of the Model does not compile until it is listed here.
 */
const SECTIONS: Readonly<Record<keyof Model, 'things' | 'whole'>> = {
  gateways: 'things',
  routes: 'things',
  tcpRoutes: 'things',
  backends: 'things',
  frontend: 'whole',
  llm: 'whole',
  mcp: 'whole',
  ui: 'whole',
}

const SECTION_NAMES = Object.keys(SECTIONS) as readonly (keyof Model)[]

/**
 * One resource: a named thing of a Model, or a section without names. The order of things counts,
 * so each one names the one before it. This depends only on the Model, so that all replicas of a
 * controller give a resource the same version, and an insertion changes two resources.
 */
export interface Part {
  /** `routes/default/orders`, `frontend`, `secrets/VERSION`. */
  readonly name: string
  /** A hash of everything that is sent. */
  readonly version: string
  readonly section: Section
  /** The resource before it in its section; empty if it is the first. */
  readonly after: string
  /** The encoded `portcullis.xds.v1.Part`. */
  readonly bytes: Uint8Array
  /** The hash of name and version, to compare sets of parts. */
  readonly lanes: Lanes
}

/** The resources of a Model, by name. */
export function partsOf(model: Model): ReadonlyMap<string, Part> {
  const parts = new Map<string, Part>()
  const add = (section: Section, name: string, after: string, thing: object) => {
    parts.set(name, partOf(section, name, after, thing, undefined))
    for (const ref of refsIn(thing)) addSecret(ref, parts, parts)
  }
  for (const section of SECTION_NAMES) {
    const value = model[section]
    if (value === undefined) continue
    if (SECTIONS[section] === 'whole') {
      add(section, section, '', value)
      continue
    }
    let after = ''
    for (const thing of value as readonly Thing[]) {
      const name = freeName(`${section}/${thing.name}`, parts)
      add(section, name, after, thing)
      after = name
    }
  }
  return parts
}

type Thing = { readonly name: string }

/** Whether every resource has the name of its thing, so that names identify things. */
export function hasUniqueNames(model: Model): boolean {
  return SECTION_NAMES.every((section) => {
    if (SECTIONS[section] === 'whole') return true
    const things = (model[section] ?? []) as readonly Thing[]
    return new Set(things.map(({ name }) => name)).size === things.length
  })
}

/**
 * The resources of `next` that differ from those of `before`; undefined removes one. If the Models
 * share what did not change, the cost is that of the differences. Returns undefined if all
 * resources must be compared: a name is not unique, or a thing is gone whose secret another one may
 * use, too.
 */
export function changedParts(
  before: Model,
  next: Model,
  parts: ReadonlyMap<string, Part>,
): ReadonlyMap<string, Part | undefined> | undefined {
  const changed = new Map<string, Part | undefined>()
  for (const section of SECTION_NAMES) {
    const [old, young] = [before[section], next[section]]
    if (old === young) continue
    if (SECTIONS[section] === 'whole') {
      if (old !== undefined && refsIn(old).length > 0) return undefined
      for (const ref of young === undefined ? [] : refsIn(young)) addSecret(ref, changed, parts)
      const part = young && partOf(section, section, '', young, parts.get(section))
      if (part !== parts.get(section)) changed.set(section, part)
    } else {
      const things = [(old ?? []) as readonly Thing[], (young ?? []) as readonly Thing[]] as const
      if (!changeThings(section, ...things, parts, changed)) return undefined
    }
  }
  return changed
}

function changeThings(
  section: Section,
  old: readonly Thing[],
  young: readonly Thing[],
  parts: ReadonlyMap<string, Part>,
  changed: Map<string, Part | undefined>,
): boolean {
  const nameOf = (thing: Thing | undefined) =>
    thing === undefined ? '' : `${section}/${thing.name}`
  const max = Math.min(old.length, young.length)
  let start = 0
  while (start < max && old[start] === young[start]) start++
  let same = 0
  while (same < max - start && old[old.length - 1 - same] === young[young.length - 1 - same]) same++
  const end = young.length - same
  const gone = new Set<string>()
  for (let i = start; i < old.length - same; i++) {
    if (refsIn(old[i] as Thing).length > 0) return false
    gone.add(nameOf(old[i]))
  }
  // The thing after a change has a new predecessor.
  for (let i = start; i < Math.min(end + 1, young.length); i++) {
    const thing = young[i] as Thing
    const isInPlace = old[i] === thing && old[i - 1]?.name === young[i - 1]?.name
    const name = nameOf(thing)
    if (i < end) {
      const isNew = !gone.delete(name)
      if (isNew && (parts.has(name) || changed.has(name))) return false
    }
    if (isInPlace) continue
    const part = partOf(section, name, nameOf(young[i - 1]), thing, parts.get(name))
    if (part !== parts.get(name)) changed.set(name, part)
    for (const ref of refsIn(thing)) addSecret(ref, changed, parts)
  }
  for (const name of gone) changed.set(name, undefined)
  return true
}

/** Named only by version: two references to the same value are one resource. */
function addSecret(
  ref: SecretRef,
  parts: Map<string, Part | undefined>,
  known: ReadonlyMap<string, Part>,
): void {
  const name = `${SECRETS}/${ref.version}`
  const text = secretText(ref)
  if (text === undefined || parts.has(name) || known.has(name)) return
  parts.set(name, partOf(SECRETS, name, '', { text }, undefined))
}

/** Names are unique in a valid Model. In an invalid one, each thing keeps its own resource. */
function freeName(wanted: string, taken: ReadonlyMap<string, unknown>): string {
  if (!taken.has(wanted)) return wanted
  for (let count = 2; ; count++) {
    const name = `${wanted}#${count}`
    if (!taken.has(name)) return name
  }
}

/** What each part was made from: consecutive Models share what did not change. */
const origins = new WeakMap<Part, object>()

function partOf(
  section: Section,
  name: string,
  after: string,
  thing: object,
  previous: Part | undefined,
): Part {
  const isInPlace = previous?.after === after
  if (isInPlace && origins.get(previous) === thing) return previous
  const json = canonicalJson(thing)
  const version = versionOf(after, json)
  if (isInPlace && previous.version === version) {
    origins.set(previous, thing)
    return previous
  }
  const message = create(PartSchema, { section, after, json: Buffer.from(json) })
  const bytes = toBinary(PartSchema, message)
  const part = { name, version, section, after, bytes, lanes: lanesOf(name, version) }
  origins.set(part, thing)
  return part
}

export function lanesOf(name: string, version: string): Lanes {
  return hashLanes(`${name}\n${version}`)
}

/** A resource as it was received, with its value. */
export interface ReceivedPart extends Part {
  readonly value: unknown
}

/** Returns undefined if this is not a known part of a Model. */
export function readPart(
  name: string,
  version: string,
  bytes: Uint8Array,
): ReceivedPart | undefined {
  const message = decode(PartSchema, bytes)
  if (message === undefined || !isSection(message.section)) return undefined
  const { section, after } = message
  const value = parseJson(message.json)
  if (typeof value !== 'object' || value === null) return undefined
  const isWhole = section !== SECRETS && SECTIONS[section] === 'whole'
  if (isWhole ? name !== section : !name.startsWith(`${section}/`)) return undefined
  return { name, version, section, after, bytes, lanes: lanesOf(name, version), value }
}

/** Whether the content matches the version: disks and people change files. */
export function isIntact({ after, value, version }: ReceivedPart): boolean {
  return versionOf(after, canonicalJson(value)) === version
}

function versionOf(after: string, json: string): string {
  return hashText(`${after}\n${json}`)
}

function isSection(name: string): name is Section {
  return name === SECRETS || Object.hasOwn(SECTIONS, name)
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString())
  } catch {
    return undefined
  }
}

/** A Model that was assembled from parts. */
export interface Assembled {
  readonly model: Model
  /** Resource → its index in the list of its section. */
  readonly places: ReadonlyMap<string, number>
  /** Values by version. */
  readonly secrets: ReadonlyMap<string, string>
}

/**
 * Assembles the Model from its parts, with its secrets; undefined if a part is missing or
 * superfluous.
 */
export function assemble(parts: Iterable<ReceivedPart>): Assembled | undefined {
  const wholes: Partial<Record<Section, unknown>> = {}
  const following = new Map<Section, Map<string, ReceivedPart>>()
  const secrets = new Map<string, string>()
  for (const part of parts) {
    const { section, after } = part
    if (section === SECRETS) {
      const { text } = part.value as { readonly text?: unknown }
      if (typeof text !== 'string') return undefined
      secrets.set(part.name.slice(SECRETS.length + 1), text)
      continue
    }
    if (SECTIONS[section] === 'whole') {
      wholes[section] = part.value
      continue
    }
    const chain = following.get(section) ?? new Map<string, ReceivedPart>()
    if (chain.has(after)) return undefined
    chain.set(after, part)
    following.set(section, chain)
  }
  const things: Partial<Record<Section, unknown[]>> = {}
  const places = new Map<string, number>()
  for (const section of SECTION_NAMES) {
    if (SECTIONS[section] === 'whole') continue
    const chain = following.get(section)
    const list: unknown[] = []
    for (let next = chain?.get(''); next !== undefined; next = chain?.get(next.name)) {
      if (list.length === chain?.size) return undefined
      places.set(next.name, list.length)
      list.push(next.value)
    }
    if (list.length !== (chain?.size ?? 0)) return undefined
    things[section] = list
  }
  if (!Array.isArray(wholes.frontend)) return undefined
  const model = { ...things, ...wholes } as unknown as Model
  const isWhole = runToCompletion(resolveSecrets(model, secrets)).length === 0
  return isWhole ? { model, places, secrets } : undefined
}

/**
 * The same with new content in the same places, at the cost of the changes; undefined if anything
 * else differs, or a secret is missing.
 */
export function reassemble(
  { model, places, secrets }: Assembled,
  changed: readonly ReceivedPart[],
): Assembled | undefined {
  const lists = new Map<Section, unknown[]>()
  const added = new Map<string, string>()
  for (const { section, name, value } of changed) {
    if (section === SECRETS) {
      const { text } = value as { readonly text?: unknown }
      if (typeof text !== 'string') return undefined
      added.set(name.slice(SECRETS.length + 1), text)
      continue
    }
    const place = places.get(name)
    if (place === undefined) return undefined
    const list = lists.get(section) ?? [...(model[section] as readonly unknown[])]
    list[place] = value
    lists.set(section, list)
  }
  const known = added.size === 0 ? secrets : new Map([...secrets, ...added])
  const values = changed.flatMap(({ section, value }) => (section === SECRETS ? [] : [value]))
  if (runToCompletion(resolveSecrets({ values }, known)).length > 0) return undefined
  return { model: { ...model, ...Object.fromEntries(lists) }, places, secrets: known }
}

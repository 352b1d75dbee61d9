import { create, toBinary } from '@bufbuild/protobuf'
import { hashLanes, hashText, type Lanes } from '../model/hash.ts'
import { canonicalJson } from '../model/json.ts'
import type { Model } from '../model/model.ts'
import { resolveSecrets, secretsIn } from '../model/secret.ts'
import { runToCompletion } from '../model/steps.ts'
import { decode } from '../protobuf/decode.ts'
import { PartSchema } from '../protobuf/generated/portcullis/xds/v1/part_pb.ts'

/** Secrets are no part of a Model, and are delivered beside it, in no order. */
const SECRETS = 'secrets'

type Section = keyof Model | typeof SECRETS

/**
 * How each section of a Model is delivered: one resource for each of its things, or one for all of
 * it. A section that is new in the Model does not compile until it is listed here.
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
 * so each one names the one before it. That depends on nothing but the Model, so that all replicas
 * of a controller give a resource the same version, and an insertion changes two resources.
 */
export interface Part {
  /** `routes/default/orders`, `frontend`, `secrets/VERSION`. */
  readonly name: string
  /** A hash of all that is sent. */
  readonly version: string
  readonly section: Section
  /** The resource before it in its section; empty: it is the first. */
  readonly after: string
  /** The encoded `portcullis.xds.v1.Part`. */
  readonly bytes: Uint8Array
  /** Of name and version, to compare sets of parts with each other. */
  readonly lanes: Lanes
}

/** The resources of a Model, by name; those of `previous` wherever they are the same. */
export function partsOf(
  model: Model,
  previous: ReadonlyMap<string, Part> = NO_PARTS,
): ReadonlyMap<string, Part> {
  const parts = new Map<string, Part>()
  const add = (section: Section, name: string, after: string, thing: object) => {
    parts.set(name, partOf(section, name, after, thing, previous.get(name)))
  }
  for (const section of SECTION_NAMES) {
    const value = model[section]
    if (value === undefined) continue
    if (SECTIONS[section] === 'whole') {
      add(section, section, '', value)
      continue
    }
    let after = ''
    for (const thing of value as readonly { readonly name: string }[]) {
      const name = freeName(`${section}/${thing.name}`, parts)
      add(section, name, after, thing)
      after = name
    }
  }
  for (const [name, part] of secretParts(model, previous)) parts.set(name, part)
  return parts
}

/** The secrets that a Model uses, by the names of their resources. */
function secretParts(model: Model, previous: ReadonlyMap<string, Part>): ReadonlyMap<string, Part> {
  const parts = new Map<string, Part>()
  for (const [version, text] of secretsIn(model)) {
    const name = `${SECRETS}/${version}`
    // The same version is the same text.
    parts.set(name, previous.get(name) ?? partOf(SECRETS, name, '', { text }, undefined))
  }
  return parts
}

/** Names are unique in a valid Model. In one that is not, the second keeps its own resource. */
function freeName(wanted: string, taken: ReadonlyMap<string, unknown>): string {
  if (!taken.has(wanted)) return wanted
  for (let count = 2; ; count++) {
    const name = `${wanted}#${count}`
    if (!taken.has(name)) return name
  }
}

const NO_PARTS: ReadonlyMap<string, Part> = new Map()

/** What each part was made of: Models that follow each other share what did not change. */
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

/** A resource as it was received, with what is in it. */
export interface ReceivedPart extends Part {
  readonly value: unknown
}

/** Undefined: this is not a part of a Model that is known here. */
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

/** Whether its content is that of its version: disks and people change files. */
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

/**
 * The Model that the parts were made of, with its secrets; undefined where one is missing, or one
 * too many.
 */
export function assemble(parts: Iterable<ReceivedPart>): Model | undefined {
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
  for (const section of SECTION_NAMES) {
    if (SECTIONS[section] === 'whole') continue
    const chain = following.get(section)
    const list: unknown[] = []
    for (let next = chain?.get(''); next !== undefined; next = chain?.get(next.name)) {
      if (list.length === chain?.size) return undefined
      list.push(next.value)
    }
    if (list.length !== (chain?.size ?? 0)) return undefined
    things[section] = list
  }
  if (!Array.isArray(wholes.frontend)) return undefined
  const model = { ...things, ...wholes } as unknown as Model
  return runToCompletion(resolveSecrets(model, secrets)).length === 0 ? model : undefined
}

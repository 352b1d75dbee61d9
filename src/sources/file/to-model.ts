import * as z from 'zod'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { locateDiagnostic, type Places } from '../../diagnostics/places.ts'
import { collector } from '../../diagnostics/report.ts'
import { hasErrors, type Result, rejection } from '../../diagnostics/result.ts'
import type { Gateway } from '../../model/gateway.ts'
import type { Model } from '../../model/model.ts'
import type { Attached } from '../../model/policy.ts'
import { isLoopback, type Settings } from '../../model/settings.ts'
import { name } from '../../policies/schema.ts'
import type { Draft, Placed, PlacedBackend, Targeted } from '../../reach/checks/draft.ts'
import { checkDraft } from '../../reach/checks/index.ts'
import type { Document } from './document.ts'
import { DocumentPlaces } from './document-places.ts'
import type { ItemMemory, ItemReader, ReadItem } from './known-items.ts'
import type { NamedFile, NamedFiles } from './named-files.ts'
import { readPolicies } from './policies.ts'
import { beginReading, complain, parseAt, type Reading } from './reading.ts'
import { TOP_LEVEL_KEYS } from './schema.ts'
import type { SectionNode } from './section-node.ts'
import { readBackend } from './sections/backends.ts'
import { lengthOf, readBinds } from './sections/binds.ts'
import { type Config, configSchema, defaultSettings } from './sections/config.ts'
import { readGateway } from './sections/gateways.ts'
import { readLlm } from './sections/llm.ts'
import { readMcpSection } from './sections/mcp-section.ts'
import { readOlderPolicies } from './sections/older-policies.ts'
import { checkRouteGroups } from './sections/route-groups.ts'
import { readRoute, readTcpRoute } from './sections/routes.ts'
import { readTargeted } from './sections/targeted.ts'
import { readUi } from './sections/ui.ts'
import { SETTINGS_THAT_WAIT, SETTINGS_WITHOUT_EFFECT } from './sections/unserved-settings.ts'

export interface ModelOptions {
  /** Reads the files that the document names. */
  readonly files: NamedFiles
  readonly known?: ItemMemory | undefined
}

export interface ReadModel {
  /** Contains a Model even if there are errors: invalid parts fail closed in it. */
  readonly result: Result<Model>
  /** The settings of the process; undefined if there is no Model. */
  readonly settings: Settings | undefined
  readonly files: readonly NamedFile[]
  readonly places: Places
}

/**
 * Converts the user's input into a Model with all diagnostics, in small steps. The Model is not
 * frozen yet: freezing a large one takes long, and can be done after it is in effect.
 */
export function* toModel(
  document: Document,
  { files, known }: ModelOptions,
): Generator<void, ReadModel> {
  const { report, result } = collector()
  const reading = beginReading(document, report, files)
  checkOutline(reading)
  checkContent(reading)
  const read = document.root.kind === 'mapping' ? yield* readModel(reading, known) : undefined
  const { model, settings } = read ?? {}
  // Other diagnostics may only be consequences of these.
  const unfilled = document.unfilled()
  const places = new DocumentPlaces(document)
  if (hasErrors(unfilled)) {
    return { result: rejection(unfilled), settings: undefined, files: files.list(), places }
  }
  for (const one of unfilled) report(one)
  return { result: result(model), settings, files: files.list(), places }
}

/**
 * All diagnostics of the parts of a document on their own: shapes, expressions, names of fields.
 * Whether parts fit together, such as a route and the backend that it names, is not checked.
 */
export function checkParts(document: Document, files: NamedFiles): readonly Diagnostic[] {
  const { report, diagnostics } = collector()
  const reading = beginReading(document, report, files)
  checkOutline(reading)
  if (document.root.kind === 'mapping') {
    // All steps at once.
    Array.from(readDraft(reading, defaultSettings(), [], undefined))
  }
  return [...document.unfilled(), ...diagnostics()]
}

/** An empty file is valid for an idle gateway, but may also be a partly written file. */
function checkContent({ document, report }: Reading): void {
  const { root, lists } = document
  if (root.kind !== 'mapping' || root.entries.length > 0 || lists.size > 0) return
  report({
    code: 'PC0223',
    severity: 'warning',
    message: 'the file is empty: no listeners are defined',
    origin: { kind: 'file', file: document.file, line: 1, column: 1 },
    hint: 'define a gateway: `gateways: {default: {port: 8080}}`',
  })
}

/** Lists that files written for other gateways may have. */
const UNSUPPORTED = ['services', 'workloads']

function checkOutline(reading: Reading): void {
  const keys = [...TOP_LEVEL_KEYS].map((key) => [key, z.unknown().optional()] as const)
  const outline = z.strictObject(Object.fromEntries(keys))
  const foreign = UNSUPPORTED.filter((key) => reading.root.inner(key).value !== undefined)
  for (const key of foreign) {
    const hint = 'it would have no effect, so it is rejected rather than ignored'
    complain(
      reading,
      reading.root.inner(key),
      { code: 'PC0219', message: `\`${key}\` is not supported`, hint },
      'key',
    )
  }
  parseAt(reading, outline, reading.root, { except: foreign })
}

function* readModel(
  reading: Reading,
  known: ItemMemory | undefined,
): Generator<void, { readonly model: Model; readonly settings: Settings }> {
  const { settings, policies } = readConfig(reading)
  const older = readOlderPolicies(reading, policies)
  const draft = yield* readDraft(reading, settings, older, known)
  const { document, report } = reading
  const places = new DocumentPlaces(document)
  const model = yield* checkDraft(draft, (said) => report(locateDiagnostic(places, said)))
  return { model, settings }
}

function* readDraft(
  reading: Reading,
  settings: Settings,
  older: readonly Attached[],
  known: ItemMemory | undefined,
): Generator<void, Draft> {
  const binds = readBinds(reading)
  const routes = yield* each(reading, known, 'routes', 'route', readRoute)
  const tcpRoutes = yield* each(reading, known, 'tcpRoutes', 'tcp-route', readTcpRoute)
  const backends = yield* each(reading, known, 'backends', 'backend', (own, node, fallback) => ({
    thing: readBackend(own, node, fallback),
    place: node.place,
  }))
  const llm = readLlm(reading)
  const mcp = readMcpSection(reading)
  const ui = readUi(reading)
  const targeted = yield* readAllTargeted(reading, known)
  const allRoutes = [...routes, ...binds.routes]
  const allTcpRoutes = [...tcpRoutes, ...binds.tcpRoutes]
  checkRouteGroups(reading)
  const inPlace: PlacedBackend[] = []
  for (const { backends: own } of allRoutes) inPlace.push(...own)
  for (const { backends: own } of allTcpRoutes) inPlace.push(...own)
  return {
    reservedPorts: ownPorts(settings),
    resolvesServices: false,
    references: reading.references,
    gateways: [...readGateways(reading), ...binds.gateways, ...llm.gateways, ...mcp.gateways],
    routes: [...allRoutes, ...llm.routes, ...mcp.routes, ...ui.routes],
    tcpRoutes: allTcpRoutes,
    backends: [...backends, ...inPlace, ...llm.backends, ...mcp.backends, ...ui.backends],
    frontend: [
      ...readPolicies(reading, reading.root.inner('frontendPolicies'), {
        sections: ['frontend'],
        level: 'frontend',
        policy: 'section:frontendPolicies',
      }),
      ...older,
    ],
    targeted,
  }
}

function ownPorts({ admin, stats, readiness }: Settings): ReadonlyMap<number, string> {
  const keys = Object.entries({ adminAddr: admin, statsAddr: stats, readinessAddr: readiness })
  return new Map(
    keys.flatMap(([key, address]) =>
      address.kind === 'tcp' ? [[address.port, `config.${key}`]] : [],
    ),
  )
}

/** Reads the items of a top-level list one by one; `noun` and the index name an unnamed item. */
function* each<T extends ReadItem>(
  reading: Reading,
  known: ItemMemory | undefined,
  key: string,
  noun: string,
  read: (reading: Reading, node: SectionNode, fallback: string) => T,
): Generator<void, readonly T[]> {
  const items: T[] = []
  const list = reading.root.inner(key)
  const length = lengthOf(reading, list)
  const readItem: ItemReader = known?.open(reading, key) ?? ((_, anew) => anew(reading))
  let isRead = false
  const readAt = (index: number) =>
    // The text is read here, unless it is cached, and discarded with the node.
    readItem(index, (own) => {
      isRead = true
      const node = list.inner(index)
      if (typeof node.inner('name').value !== 'string') own.dependsOnNumber()
      const item = read(own, node, `${noun}-${index}`)
      if (reading.document.parts.isRepeated(key, index)) own.dependsOnMore()
      return item
    })
  // Many cached items form one step. In a separate function, because V8 does not optimize a loop of
  // a generator while it runs.
  const readSome = () => {
    isRead = false
    const end = Math.min(length, items.length + KNOWN_AT_ONCE)
    while (items.length < end && !isRead) items.push(readAt(items.length))
  }
  while (items.length < length) {
    readSome()
    yield
  }
  return items
}

const KNOWN_AT_ONCE = 256

function* readAllTargeted(
  reading: Reading,
  known: ItemMemory | undefined,
): Generator<void, readonly Targeted[]> {
  const list = reading.root.inner('policies')
  const readItem = known?.openPolicies?.(reading) ?? ((_, anew) => anew(reading))
  const length = lengthOf(reading, list)
  const targeted: Targeted[] = []
  for (let index = 0; index < length; index++) {
    targeted.push(...readItem(index, (own) => readTargeted(own, list.inner(index))))
    yield
  }
  return targeted
}

function readConfig(reading: Reading): Config {
  const config = reading.root.inner('config')
  if (config.value === undefined) return { settings: defaultSettings(), policies: {} }
  const read = parseAt(reading, configSchema, config, { stage: 'log' })
  const value = read.value?.settings
  for (const key of SETTINGS_WITHOUT_EFFECT) {
    if (config.inner(key).value === undefined) continue
    reportUseless(reading, config.inner(key), [key])
  }
  const edns0 = config.inner('dns', 'edns0')
  if (edns0.value !== undefined) reportUseless(reading, edns0, ['dns', 'edns0'])
  checkAdmin(reading, config, value?.admin)
  if (value?.database !== undefined && value.storage.mode === 'readonly') {
    const how = 'to store changes, set `config.storage.mode: database`'
    reportUseless(reading, config.inner('database'), ['database'], how)
  }
  if (value?.storage.mode === 'database') checkDatabase(reading, config, value)
  for (const key of SETTINGS_THAT_WAIT) {
    const node = config.inner(...key)
    if (node.value === undefined) continue
    const message = `\`config.${key.join('.')}\` is validated, but has no effect in this version`
    complain(reading, node, { code: 'PC0220', severity: 'warning', message }, 'key')
  }
  return read.value ?? { settings: defaultSettings(), policies: {} }
}

function checkDatabase(reading: Reading, config: SectionNode, { database }: Settings): void {
  const url = database?.url.secret.trim() ?? ''
  if (/^postgres(?:ql)?:\/\//.test(url) && URL.canParse(url)) return
  const message = '`config.storage.mode: database` requires `config.database.url` (postgres://…)'
  const hint =
    'use postgres://user:password@host:5432/database; with the Helm chart, set `database.postgres.url`'
  complain(reading, config.inner('storage', 'mode'), { code: 'PC0408', message, hint }, 'key')
}

/** The admin API shows the configuration and decisions, and may allow changes. */
function checkAdmin(
  reading: Reading,
  config: SectionNode,
  admin: Settings['admin'] | undefined,
): void {
  if (admin?.kind !== 'tcp' || isLoopback(admin.host)) return
  const isAllowed = config.inner('adminAllowRemote').value === true
  const message = `the admin API is reachable from other machines at ${admin.host}, without encryption`
  const hint = isAllowed
    ? 'callers need the token from PORTCULLIS_ADMIN_TOKEN or the one printed at startup'
    : 'listen on localhost, or set `config.adminAllowRemote: true`'
  const said = isAllowed
    ? ({ code: 'PC0319', severity: 'warning', message, hint } as const)
    : ({ code: 'PC0318', message, hint } as const)
  complain(reading, config.inner('adminAddr'), said)
}

function reportUseless(
  reading: Reading,
  node: SectionNode,
  key: readonly string[],
  how?: string,
): void {
  const message = `\`config.${key.join('.')}\` has no effect`
  const said = { code: 'PC0221', severity: 'warning', message, hint: how } as const
  complain(reading, node, said, 'key')
}

function readGateways(reading: Reading): readonly Placed<Gateway>[] {
  const gateways = reading.root.inner('gateways')
  const { value } = gateways
  if (value === undefined) return []
  parseAt(reading, z.record(name(), z.unknown()), gateways)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return Object.keys(value).map((gateway) => {
    const node = gateways.inner(gateway)
    return { thing: readGateway(reading, node, gateway), place: node.place }
  })
}

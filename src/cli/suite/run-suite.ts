import { dirname, resolve } from 'node:path'
import { jwtProvidersOf } from '../../analysis/jwt-providers.ts'
import type { Diagnostic, Origin } from '../../diagnostics/diagnostic.ts'
import { locate, locateAll, type Places } from '../../diagnostics/places.ts'
import { renderOrigin } from '../../diagnostics/render.ts'
import { hasErrors } from '../../diagnostics/result.ts'
import type { Listener } from '../../model/gateway.ts'
import type { Model } from '../../model/model.ts'
import type { Settings } from '../../model/settings.ts'
import { listMethods } from '../../protocols/mcp/methods.ts'
import { Gateway } from '../../proxy/gateway.ts'
import { layersOf } from '../../reach/all-layers.ts'
import { Reach } from '../../reach/reach.ts'
import { loadFile, loadText } from '../../sources/file/load.ts'
import type { DecisionRecord } from '../../telemetry/decision-record.ts'
import { createLogger } from '../../telemetry/log.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import type { Judged } from '../load-judged.ts'
import { mcpRequests, outcomeOf } from './ask-mcp.ts'
import { type Authority, makeAuthority } from './certificate.ts'
import { ask, type Door, needsProxyHeader } from './client.ts'
import { type Covered, coverageOf } from './coverage.ts'
import { type Case, expectedOf, type Suite } from './format.ts'
import { judge } from './judge.ts'
import { methodIn, type Offered, offeredBy } from './mcp-stand-in.ts'
import { checkScopes, type InvariantResult, runInvariants } from './run-invariants.ts'
import { StandIns } from './stand-ins.ts'
import { TokenMaker } from './tokens.ts'
import { putUnderTest, settingsUnderTest, standInsFor, type UnderTest } from './under-test.ts'

export interface SuiteResult {
  readonly file: string
  readonly name: string
  readonly cases: readonly CaseResult[]
  readonly invariants: readonly InvariantResult[]
  readonly coverage: readonly Covered[]
  /** The reasons why nothing was run, if so. */
  readonly diagnostics: readonly Diagnostic[]
}

export interface CaseResult {
  readonly name: string
  /** Empty if the case passed. */
  readonly failures: readonly string[]
  readonly milliseconds: number
}

/** The result for a file that could not be read. */
export function notRun(file: string, diagnostics: readonly Diagnostic[]): SuiteResult {
  return { file, name: file, cases: [], invariants: [], coverage: [], diagnostics }
}

type Environment = Readonly<Record<string, string | undefined>>

export interface SuiteOptions {
  readonly environment: Environment
  /** Runs only the invariants: no port is opened. */
  readonly onlyInvariants?: boolean
  /** Invariants that are neither proven nor refuted pass. */
  readonly allowsNotKnown?: boolean
}

/** Proves the invariants, then runs the cases against a gateway that listens only for them. */
export async function runSuite(
  suite: Suite,
  file: string,
  options: SuiteOptions,
): Promise<SuiteResult> {
  const { result, settings, places } = loadConfig(suite, file, options.environment)
  const { value: model, diagnostics } = result
  const empty = { file, name: suite.name, cases: [], invariants: [], coverage: [] }
  if (model === undefined || settings === undefined || hasErrors(diagnostics)) {
    return { ...empty, diagnostics }
  }
  const misnamed = checkScopes(model, suite.invariants)
  if (misnamed.length > 0) return { ...empty, diagnostics: misnamed }
  const invariants = runInvariants(model, suite.invariants, options.allowsNotKnown === true)
  const isDone = options.onlyInvariants === true || suite.requests.length === 0
  if (isDone) return { ...empty, invariants, diagnostics: [] }
  return { ...(await runCases(suite, file, { model, settings, places })), invariants }
}

async function runCases(
  suite: Suite,
  file: string,
  { model, settings, places }: Judged,
): Promise<Omit<SuiteResult, 'invariants'>> {
  const empty = { file, name: suite.name, cases: [], coverage: [] }
  const standIns = new StandIns(suite.backends, mcpServersOf(model, suite))
  const tokens = new TokenMaker()
  const authority = makeAuthority('portcullis test')
  const backends = await standIns.open(model.backends.flatMap(standInsFor))
  const underTest = await putUnderTest(model, {
    backends,
    keySet: tokens.keySet,
    authority,
    takesProxyHeader: suite.requests.some(needsProxyHeader),
  })
  const records: DecisionRecord[] = []
  const write = (record: DecisionRecord) => void records.push(record)
  const gateway = openGateway(settingsUnderTest(settings), places, write)
  try {
    const applied = await gateway.apply(underTest.model)
    if (!applied.isApplied) return { ...empty, diagnostics: locateAll(places, applied.diagnostics) }
    const cases: CaseResult[] = []
    for (const one of suite.requests) {
      cases.push(
        await runCase(one, { suite, model, underTest, tokens, authority, standIns, records }),
      )
    }
    return {
      file,
      name: suite.name,
      cases,
      coverage: coverageOf(model, places, records),
      diagnostics: [],
    }
  } finally {
    await gateway.drain()
    standIns.close()
  }
}

/** OpenAPI targets are excluded: their document lists the tools; their stand-in is an API. */
function mcpServersOf({ backends }: Model, suite: Suite): ReadonlyMap<string, Offered> {
  const servers = backends.flatMap((backend) =>
    backend.kind !== 'mcp'
      ? []
      : backend.targets
          .filter(({ transport }) => transport !== 'openapi')
          .map((target) => {
            const name = `${backend.name}/${target.name}`
            return [name, offeredBy(backend, target, suite)] as const
          }),
  )
  return new Map(servers)
}

function loadConfig({ config }: Suite, file: string, environment: Environment) {
  if (typeof config === 'string') {
    return loadFile(resolve(dirname(file), config), { shownAs: config, environment })
  }
  const shownAs = `${file} (config)`
  return loadText(JSON.stringify(config, undefined, 2), file, { shownAs, environment })
}

function openGateway(
  settings: Settings,
  places: Places,
  writeDecision: (record: DecisionRecord) => void,
): Gateway {
  const log = createLogger({ format: 'text', level: 'error', write: () => {} })
  const metrics = createMetrics({ histograms: 'classic', remove: [], customLabels: [] })
  const showOrigin = (origin: Origin) => renderOrigin(locate(places, origin))
  return new Gateway({ settings, log, metrics, reusePort: false, writeDecision, showOrigin })
}

interface Running {
  readonly suite: Suite
  readonly model: Model
  readonly underTest: UnderTest
  readonly tokens: TokenMaker
  readonly authority: Authority
  readonly standIns: StandIns
  readonly records: readonly DecisionRecord[]
}

async function runCase(one: Case, running: Running): Promise<CaseResult> {
  const { suite, model, underTest, tokens, authority, standIns, records } = running
  const name = one.name ?? describe(one)
  const began = performance.now()
  const done = (failures: readonly string[]) => ({
    name,
    failures,
    milliseconds: performance.now() - began,
  })
  const door = doorFor(one, model, underTest)
  if (door === undefined) return done([`unknown listener \`${one.listener}\``])
  const claims = typeof one.as === 'string' ? suite.identities[one.as] : one.as
  if (one.as !== undefined && claims === undefined) {
    return done([`unknown identity \`${String(one.as)}\``])
  }
  const token = claims && tokens.make({ ...usualClaims(model), ...claims }, one.token)
  const { mcp } = one
  const about = mcp && mcpRequests(one, mcp)
  const listed = about && (await ask(about.list, token, door, authority))
  const before = { records: records.length, arrivals: standIns.arrivals.length }
  const seen = await ask(about?.call ?? one, token, door, authority)
  const all = standIns.arrivals.slice(before.arrivals)
  const decisions = records.slice(before.records)
  if (mcp === undefined || about === undefined || listed === undefined) {
    return done(judge(expectedOf(one), { seen, decisions, arrivals: all }))
  }
  // The gateway may request lists by itself.
  const arrivals = all.filter(({ body }) => !LISTS.has(methodIn(body) ?? ''))
  const outcome = outcomeOf(mcp, about.method, listed, seen, arrivals)
  return done(judge(expectedOf(one), { seen, decisions, arrivals, mcp: { outcome } }))
}

const LISTS: ReadonlySet<string> = new Set(listMethods().map(([name]) => name))

function describe({ as: who, method, path, from, sni, headers, mcp }: Case): string {
  const parts = [typeof who === 'string' ? who : who === undefined ? 'anonymous' : 'a token']
  const { tool, prompt, resource, arguments: given } = mcp ?? {}
  if (mcp === undefined) parts.push(`${method} ${path}`)
  else parts.push(`${tool ?? prompt ?? resource}`)
  if (given !== undefined) parts.push(JSON.stringify(given))
  for (const [header, value] of Object.entries(headers)) parts.push(`${header}: ${String(value)}`)
  if (from !== undefined) parts.push(`from ${from}`)
  if (sni !== undefined) parts.push(sni === false ? 'without SNI' : `SNI ${sni}`)
  return parts.join(', ')
}

function doorFor({ listener: wanted }: Case, model: Model, { ports }: UnderTest): Door | undefined {
  for (const { gateway, listener } of new Reach(model).listeners()) {
    const names = [gateway.name, listener.name, `${gateway.name}/${listener.name}`]
    const isIt = wanted === undefined || names.includes(wanted)
    const port = ports.get(listener.port ?? 0)
    if (isIt && port !== undefined) return { port, isEncrypted: isEncrypted(listener) }
  }
  return undefined
}

function isEncrypted({ protocol }: Listener): boolean {
  return protocol === 'HTTPS' || protocol === 'TLS'
}

/** Defaults, so that cases only set what matters: the first issuer and one of its audiences. */
function usualClaims(model: Model): Readonly<Record<string, unknown>> {
  for (const { policies } of layersOf(model)) {
    const [provider] = policies.flatMap(jwtProvidersOf)
    if (provider === undefined) continue
    const [audience] = provider.audiences
    return { iss: provider.issuer, ...(audience === undefined ? {} : { aud: audience }) }
  }
  return { iss: 'https://issuer.example.com' }
}

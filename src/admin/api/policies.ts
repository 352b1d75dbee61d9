import { createHash } from 'node:crypto'
import * as z from 'zod'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Change, ConfigurationView } from '../../sources/database/configuration.ts'
import { placeInTools } from '../../sources/database/tool-places.ts'
import { textForTools } from '../../sources/database/tool-text.ts'
import type { DecisionRecord } from '../../telemetry/decision-record.ts'
import { renderFailure } from './change-failures.ts'
import { proposedChanges } from './config-changes.ts'
import { type ApiReply, anyJson, type Endpoint, ok, problem } from './define.ts'
import type { ApiDeps, ExplainReply, ToolResult } from './deps.ts'
import { keepEffective } from './effective-filter.ts'
import {
  diffReport,
  effectiveReport,
  explainReport,
  lintReport,
  replayReport,
  suggestReport,
  testReport,
} from './reports.ts'

const proposed = { changes: proposedChanges }

const hypothetical = z.strictObject({
  ...proposed,
  request: z.string().max(8_192).default('GET /').describe('Method and path, or a URL.'),
  headers: z.array(z.string().max(8_192)).max(256).default([]).describe('`name: value`.'),
  claims: z.record(z.string(), anyJson).optional().describe('The claims of the token.'),
  apiKey: z.record(z.string(), anyJson).optional().describe('The metadata of the API key.'),
  user: z.string().optional().describe('The user name of basic authentication.'),
  body: z.string().max(1_000_000).optional().describe('The body of the request.'),
  source: z.string().optional().describe('The client address.'),
  sni: z.string().optional().describe('The server name (SNI).'),
  identity: z.string().optional().describe('The SPIFFE ID in the client certificate.'),
  certificate: z
    .record(z.string(), anyJson)
    .optional()
    .describe('Other fields of the client certificate.'),
  listener: z.string().optional().describe('gateway/listener.'),
  backend: z.string().optional().describe('The backend, if the route has several.'),
  provider: z.string().optional().describe('A provider of an AI backend.'),
})

export const POLICY_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/api/policies/effective',
    summary: 'The guards of each listener, route and backend, or the places that a policy guards.',
    role: 'viewer',
    query: z.object({
      policy: z.string().optional().describe('Only places that this policy guards.'),
      gateway: z.string().optional().describe('Only this gateway.'),
      route: z.string().optional().describe('Only this route.'),
      backend: z.string().optional().describe('Only this backend.'),
    }),
    responses: { 200: { description: 'The report.', schema: effectiveReport } },
    run: async ({ query }, deps) =>
      tool(deps, 'effective', ['-f', 'FILES/config.json', '--json'], [], {}, (found) =>
        keepEffective(found, query),
      ),
  },
  {
    method: 'POST',
    path: '/api/policies/lint',
    summary: 'Lints the policies with the changes.',
    role: 'viewer',
    body: z.strictObject(proposed),
    responses: { 200: { description: 'The report.', schema: lintReport } },
    run: ({ body }, deps) =>
      tool(
        deps,
        'lint',
        ['--format', 'json', 'FILES/config.json'],
        changesOf(body),
        {},
        withPlaces,
      ),
  },
  {
    method: 'POST',
    path: '/api/policies/diff',
    summary: 'Requests that the changes newly admit or deny, with examples.',
    role: 'viewer',
    body: z.strictObject(proposed),
    responses: { 200: { description: 'The report.', schema: diffReport } },
    run: ({ body }, deps) =>
      tool(deps, 'diff', ['FILES/before.json', 'FILES/config.json', '--json'], changesOf(body)),
  },
  {
    method: 'POST',
    path: '/api/policies/replay',
    summary: 'Recorded requests that the changes would decide differently.',
    role: 'viewer',
    body: z.strictObject(proposed),
    responses: { 200: { description: 'The report.', schema: replayReport } },
    run: async ({ body }, deps) => {
      const lines = await recordedLines(deps)
      if (lines.length === 0) return problem(409, 'no decisions are recorded yet')
      const args = ['--decisions', 'FILES/decisions.jsonl', '--old', 'FILES/before.json']
      const files = { 'decisions.jsonl': lines.join('') }
      const all = [...args, '--new', 'FILES/config.json', '--json']
      return tool(deps, 'replay', all, changesOf(body), files)
    },
  },
  {
    method: 'GET',
    path: '/api/policies/suggest',
    summary:
      'Suggested Allow rules for the recorded requests, each with requests that it would deny.',
    role: 'viewer',
    query: z.object({ route: z.string().optional().describe('Only this route.') }),
    responses: { 200: { description: 'The report.', schema: suggestReport } },
    run: async ({ query }, deps) => {
      const lines = await recordedLines(deps)
      if (lines.length === 0) return problem(409, 'no decisions are recorded yet')
      const { route } = query as { readonly route?: string }
      const args = ['--decisions', 'FILES/decisions.jsonl', '-f', 'FILES/config.json', '--json']
      const own = route === undefined ? args : [...args, `--route=${route}`]
      return tool(deps, 'suggest', own, [], { 'decisions.jsonl': lines.join('') })
    },
  },
  {
    method: 'POST',
    path: '/api/policies/test',
    summary: 'Runs the cases of a test file with the running configuration and optional changes.',
    role: 'editor',
    body: z.strictObject({
      ...proposed,
      suite: z.record(z.string(), anyJson).describe('As in a test file, without `config`.'),
      allowsNotKnown: z
        .boolean()
        .default(false)
        .describe('Do not fail on invariants that are neither proven nor refuted.'),
    }),
    responses: { 200: { description: 'The report.', schema: testReport } },
    run: ({ body }, deps) => {
      const { suite, allowsNotKnown } = body as SentSuite
      const files = { 'suite.json': JSON.stringify({ ...suite, config: 'config.json' }) }
      const more = allowsNotKnown ? ['--allow-not-known'] : []
      return tool(deps, 'test', ['--json', ...more, 'FILES/suite.json'], changesOf(body), files)
    },
  },
  {
    method: 'POST',
    path: '/api/policies/explain',
    summary: 'Explains how a request is decided, rule by rule.',
    role: 'viewer',
    body: hypothetical,
    responses: { 200: { description: 'The report.', schema: explainReport } },
    run: async ({ body: sent }, deps) => {
      const { body, changes, ...given } = sent as Asked
      const query = { changes: changes ?? [], options: optionsOf(given), body }
      return explained(await deps.explain(query), deps)
    },
  },
  {
    method: 'GET',
    path: '/api/decisions/{id}/explain',
    summary: 'Explains how the request of a recorded decision would be decided now.',
    role: 'viewer',
    responses: { 200: { description: 'The report.', schema: explainReport } },
    run: async ({ parts }, deps) => {
      const { id = '' } = parts
      const { records } = await deps.find({ id, limit: 100 })
      if (records.length === 0) return problem(404, `no record of ${id}`)
      return explained(await deps.explain({ record: records[0] as DecisionRecord }), deps)
    },
  },
]

/** Oldest first, as in a file. */
async function recordedLines(deps: ApiDeps): Promise<readonly string[]> {
  const { records } = await deps.find({ limit: 10_000 })
  return records.toReversed().map((one) => `${JSON.stringify(one)}\n`)
}

interface SentSuite {
  readonly suite: object
  readonly allowsNotKnown: boolean
}

function changesOf(body: unknown): readonly Change[] {
  return (body as { readonly changes?: readonly Change[] }).changes ?? []
}

type Asked = Omit<z.output<typeof hypothetical>, 'changes'> & {
  readonly changes?: readonly Change[]
}

function optionsOf({
  headers,
  claims,
  apiKey,
  certificate,
  ...given
}: Omit<Asked, 'changes' | 'body'>) {
  const objects = { claims, 'api-key': apiKey, certificate }
  const texts = Object.entries(objects).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, JSON.stringify(value)] as const],
  )
  return { ...given, header: headers, ...Object.fromEntries(texts) }
}

function explained(found: ExplainReply, deps: ApiDeps): ApiReply {
  if (found === 'busy') return busy()
  if ('failure' in found) return renderFailure(found.failure, deps)
  const clean = cleaner(deps)
  if ('problem' in found) return problem(found.status, clean(found.problem))
  return ok(JSON.parse(clean(JSON.stringify(found.report))))
}

function unreadable(): ApiReply {
  return problem(503, 'cannot read the configuration file')
}

function busy(): ApiReply {
  return problem(429, 'other analyses are running: try again later', {}, { 'retry-after': '5' })
}

/** Replaces what must never be shown. */
function cleaner({ secrets }: ApiDeps): (text: string) => string {
  return (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '(secret)'), text)
}

/** `before.json` is the running configuration, `config.json` the same with the changes. */
async function tool(
  deps: ApiDeps,
  command: Parameters<ApiDeps['runTool']>[0],
  args: readonly string[],
  changes: readonly Change[],
  more: Readonly<Record<string, string>> = {},
  keep: (found: unknown, looked: Looked | undefined) => unknown = (found) => found,
): Promise<ApiReply> {
  const { configuration, runTool } = deps
  // A configuration served as written is analyzed in its own file, which has the positions, unless
  // it is named by another file that the tool gets.
  const isAsWritten = changes.length === 0 && configuration.store === undefined
  const isFile = isAsWritten && args.includes('FILES/config.json')
  const files: Record<string, string> = { ...more }
  let looked: Looked | undefined
  const comparesBefore = args.some((arg) => arg.includes('before.json'))
  if (!isFile || comparesBefore) {
    const before = configuration.view()
    if (before === undefined) return unreadable()
    const after = changes.length === 0 ? before : configuration.preview(changes)
    if ('why' in after) return renderFailure(after, deps)
    const text = textForTools(after)
    files['config.json'] = text
    if (!isFile) looked = { text, view: after }
    if (comparesBefore) files['before.json'] = textForTools(before)
  }
  const own = isFile
    ? args.map((arg) => (arg === 'FILES/config.json' ? configuration.file : arg))
    : args
  const text = files['config.json'] ?? configuration.text()
  if (text === undefined) return unreadable()
  const run = () => runTool(command, own, files)
  const result = command === 'effective' ? await runOnce(deps, text, run) : await run()
  if (result === 'busy') return busy()
  return replyOf(command, result, deps, (found) => keep(found, looked))
}

/** The text that a tool was given instead of the file, and what it was made from. */
interface Looked {
  readonly text: string
  readonly view: ConfigurationView
}

/** Names resources and fields instead of lines of a text that only the tool had. */
function withPlaces(found: unknown, looked: Looked | undefined): unknown {
  if (looked === undefined) return found
  const { text, view } = looked
  const report = found as { readonly diagnostics: readonly Diagnostic[] }
  const diagnostics = report.diagnostics.map((one) => {
    const { origin } = one
    if (origin.kind !== 'file') return one
    return { ...one, origin: placeInTools(text, origin.line, view.merged.resources) ?? origin }
  })
  return { ...report, diagnostics }
}

interface LastRun {
  readonly digest: string
  readonly result: Promise<ToolResult | 'busy'>
}

const lastRuns = new WeakMap<ApiDeps, LastRun>()

/** Several pages of the UI read the same result, so it is computed once per configuration. */
async function runOnce(
  deps: ApiDeps,
  text: string,
  run: () => Promise<ToolResult | 'busy'>,
): Promise<ToolResult | 'busy'> {
  // The text contains secrets, so it is not retained.
  const digest = createHash('sha256').update(text).digest('hex')
  const last = lastRuns.get(deps)
  if (last?.digest === digest) return last.result
  const own = { digest, result: run() }
  lastRuns.set(deps, own)
  const result = await own.result
  if ((result === 'busy' || result.code !== 0) && lastRuns.get(deps) === own) lastRuns.delete(deps)
  return result
}

function replyOf(
  command: string,
  { code, out, err }: ToolResult,
  deps: ApiDeps,
  keep: (found: unknown) => unknown,
): ApiReply {
  const clean = cleaner(deps)
  let found: unknown
  try {
    found = JSON.parse(clean(out))
  } catch {
    const detail = clean(err).trim() || `portcullis ${command} exited with code ${code}`
    return problem(422, detail)
  }
  return ok(keep(found))
}

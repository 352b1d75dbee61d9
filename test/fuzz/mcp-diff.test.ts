import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { compare } from '../../src/cli/diff.ts'
import { readHypothetical } from '../../src/cli/hypothetical-request.ts'
import { idleServices } from '../../src/cli/idle-deps.ts'
import { RequestReader } from '../../src/cli/wire-request.ts'
import type { Model } from '../../src/model/model.ts'
import { compileProgram } from '../../src/program/compile.ts'
import { denialOf, explainRequest, type HypotheticalRequest } from '../../src/program/explain.ts'
import { loadText } from '../../src/sources/file/load.ts'
import { assertProperty } from './assert-property.ts'
import { fuzz } from './runs.ts'

/** What `diff` concludes about MCP rules holds for messages that both programs decide. */

const ATOMS = [
  "mcp.tool.name == 'read'",
  "mcp.tool.name in ['read', 'write']",
  "mcp.tool.name.startsWith('r')",
  "mcp.tool.target == 'files'",
  "mcp.tool.arguments.path == '/srv'",
  "mcp.tool.arguments.path.startsWith('/s')",
  'has(mcp.tool)',
  'has(mcp.tool.arguments)',
  "'path' in mcp.tool.arguments",
  "has(mcp.prompt) && mcp.prompt.name == 'p'",
  "mcp.resource.name == 'r'",
  "mcp.methodName == 'tools/call'",
  "mcp.methodName == 'tools/list'",
  "mcp.methodName.startsWith('notifications/')",
  "mcp.methodName in ['ping', 'unknown']",
  "request.headers['x-team'] == 'eng'",
  "'x-team' in request.headers",
]
const atom = fc.constantFrom(...ATOMS)
const expression = fc.oneof(
  { weight: 2, arbitrary: atom },
  atom.map((one) => `!(${one})`),
  fc.tuple(atom, atom).map(([a, b]) => `${a} && ${b}`),
  fc.tuple(atom, atom).map(([a, b]) => `(${a}) || (${b})`),
  fc.tuple(atom, atom, atom).map(([a, b, c]) => `(${a}) ? (${b}) : (${c})`),
)
const rules = fc.array(fc.tuple(fc.constantFrom('allow', 'allow', 'require', 'deny'), expression), {
  maxLength: 3,
})
const half = fc.record({ general: rules, own: rules })
/** Edited rather than drawn anew, so that much stays the same. */
const pair = fc.oneof(
  fc.tuple(half, half),
  fc.tuple(half, rules).map(([one, general]) => [one, { ...one, general }] as const),
  half.map((one) => [one, { ...one, general: one.general.toReversed() }] as const),
  fc.tuple(half, expression).map(([one, more]) => {
    return [one, { ...one, general: [...one.general, ['deny', more] as const] }] as const
  }),
)

const FOLDER = mkdtempSync(join(tmpdir(), 'mcp-diff-'))
after(() => rmSync(FOLDER, { recursive: true }))

const TOOLS = { files: { read: {}, write: {} }, search: { read: {} } }
const PINS = join(FOLDER, 'pins.json')
writeFileSync(PINS, JSON.stringify({ version: 1, targets: TOOLS }))

function modelOf({ general, own }: { general: readonly Rule[]; own: readonly Rule[] }): Model {
  const listed = (all: readonly Rule[]) =>
    all.length === 0
      ? {}
      : { mcpAuthorization: { rules: all.map(([action, text]) => ({ [action]: text })) } }
  const pins = { file: PINS, mode: 'Audit' }
  const target = (name: string, policies: object) => {
    return { name, mcp: { host: `${name}:80` }, pins, policies }
  }
  const text = JSON.stringify({
    gateways: { default: { port: 4000 } },
    mcp: {
      targets: [target('files', listed(own)), target('search', {})],
      policies: listed(general),
    },
  })
  const { value, diagnostics } = loadText(text, 'f.json', { environment: {} }).result
  // A part with an error is served, too: it rejects all requests, whatever the rules are.
  assert.deepEqual(
    diagnostics.filter(({ severity }) => severity === 'error'),
    [],
  )
  return value ?? assert.fail(text)
}

type Rule = readonly [action: string, text: string]

const call = (name: string, given?: unknown) => ({
  id: 1,
  method: 'tools/call',
  params: { name, ...(given === undefined ? {} : { arguments: given }) },
})
const MESSAGES: readonly object[] = [
  ...['files_read', 'files_write', 'files_other', 'search_read'].flatMap((name) => [
    call(name),
    call(name, {}),
    call(name, 5),
    call(name, { path: '/srv' }),
    call(name, { path: '/s', other: 1 }),
    call(name, { path: 7 }),
  ]),
  ...['files_p', 'search_q'].map((name) => ({ id: 1, method: 'prompts/get', params: { name } })),
  ...['files+r', 'search+x'].map((uri) => ({ id: 1, method: 'resources/read', params: { uri } })),
  ...['ping', 'initialize', 'tools/list', 'prompts/list', 'tasks/list', 'unknown'].map((method) => {
    return { id: 1, method }
  }),
  { method: 'notifications/initialized' },
  { method: 'notifications/cancelled' },
]
const REQUESTS: readonly HypotheticalRequest[] = MESSAGES.flatMap((message) =>
  [[], [['x-team', 'eng'] as const], [['x-team', 'ops'] as const]].map((headers) => {
    const content = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }))
    const limits = { body: 1_000_000, json: 1_000_000 }
    const length = ['content-length', String(content.length)] as const
    return {
      method: 'POST',
      path: '/mcp',
      search: '',
      host: 'localhost',
      headers: [...headers, length],
      body: { content, rejected: undefined, limits },
      isWhole: true,
      source: '127.0.0.1',
      sourcePort: 40_000,
      identity: {},
      listener: 'default/default',
    }
  }),
)

/** Whether each request is admitted, and the tools that its list shows. */
function observed(model: Model) {
  const dice = { value: 0 }
  const program = compileProgram(model, undefined, idleServices(dice))
  const reader = new RequestReader(program)
  return REQUESTS.map((written) => {
    const read = readHypothetical(program, reader, written)
    if ('word' in read) return assert.fail(read.word)
    const explained = explainRequest(program, read, dice)
    if (typeof explained === 'string') return assert.fail(explained)
    const isAdmitted = denialOf(explained.stages) === undefined && explained.late === undefined
    const shown = (explained.tools ?? []).filter(({ state }) => state === 'shown')
    return { isAdmitted, shown: new Set(isAdmitted ? shown.map(({ tool }) => tool) : []) }
  })
}

/** How often a statement was made, and how often something changed that it could be wrong about. */
const counts = { statements: 0, proven: 0, unknown: 0, changes: 0 }
/** Of all statements. */
const MAX_UNKNOWN = 0.15
const MIN_CHANGED = 0.2

describe('semantic diff of MCP rules', () => {
  it('is right about messages and lists', () => {
    assertProperty(
      'mcp-diff',
      fc.property(pair, ([old, now]) => {
        const [before, after] = [modelOf(old), modelOf(now)]
        const { differences, untold } = compare(before, after)
        const [was, is] = [observed(before), observed(after)]
        for (const [kind, from, to] of [
          ['admitted', was, is],
          ['refused', is, was],
        ] as const) {
          const isOfKind = (one: { readonly kind: string }) => one.kind === kind
          const changed = to.flatMap((outcome, index) => {
            const other = from[index]
            const isNew = outcome.isAdmitted && other?.isAdmitted === false
            const shown = [...outcome.shown].filter((tool) => !other?.shown.has(tool))
            if (!isNew && shown.length === 0) return []
            const { body, headers } = REQUESTS[index] ?? assert.fail()
            const sent = Buffer.from(body?.content ?? []).toString()
            return [`${kind}: ${sent} ${JSON.stringify(headers)} ${shown}`]
          })
          counts.statements++
          if (untold.some(isOfKind)) counts.unknown++
          if (changed.length > 0) counts.changes++
          if ([...differences, ...untold].some(isOfKind)) continue
          counts.proven++
          assert.deepEqual(changed, [])
        }
      }),
      fuzz(1),
    )
  })

  it('is about rules that change what happens, and is rarely unknown', () => {
    const { statements, proven, unknown, changes } = counts
    const shares = `of ${statements}: ${proven} proven, ${unknown} not known, ${changes} changed`
    console.log(`  MCP rules, ${shares}`)
    assert.ok(proven > statements / 5, shares)
    // A percentage of a few means nothing.
    if (statements < 100) return
    assert.ok(changes > MIN_CHANGED * statements, shares)
    assert.ok(unknown < MAX_UNKNOWN * statements, shares)
  })
})

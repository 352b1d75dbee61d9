import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { GENERAL_METHODS, LIST_METHODS, PART_METHODS } from '../analysis/diff/messages.ts'
import { listMethods, methodOf } from '../protocols/mcp/methods.ts'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'diff-mcp-'))
after(() => rmSync(FOLDER, { recursive: true }))

let count = 0
function file(rules: readonly string[], own: readonly string[] = []): string {
  const path = join(FOLDER, `${count++}.yaml`)
  const listed = (all: readonly string[], indent: string) =>
    all.length === 0
      ? ''
      : `${indent}mcpAuthorization:\n${indent}  rules:\n${all.map((rule) => `${indent}  - ${rule}\n`).join('')}`
  const server = own.length === 0 ? '' : `    policies:\n${listed(own, '      ')}`
  writeFileSync(
    path,
    `gateways: { default: { port: 4000 } }
mcp:
  targets:
  - name: files
    mcp: { host: 'files:80' }
${server}  - name: search
    mcp: { host: 'search:80' }
  policies:
    jwtAuthentication: { issuer: 'https://i.example', audiences: [a], jwks: '{"keys":[]}' }
${listed(rules, '    ')}`,
  )
  return path
}

async function diffed(before: string, now: string) {
  const { code, out } = await runWith(['diff', before, now, '--json', '--fail-on-newly-admitted'])
  const { differences, untold } = JSON.parse(out) as {
    differences: readonly { kind: string; example: { message?: { about: string } } }[]
    untold: readonly { kind: string; why: string }[]
  }
  const calls = differences.map(({ kind, example }) => `${kind} ${example.message?.about}`)
  return { code, calls, untold: untold.map(({ kind, why }) => `${kind}: ${why}`) }
}

const READ = "allow: mcp.tool.name == 'read'"
const WRITE = "allow: mcp.tool.name == 'write' && jwt.sub == 'ann'"
const ANN = "jwt.sub == 'ann'"

/** Edits of rules, and which calls they change: nothing about them may be unknown. */
const EDITS: Readonly<Record<string, readonly [old: string[], now: string[], calls: string[]]>> = {
  'an Allow removed': [[READ, WRITE], [READ], ['refused files_write', 'refused search_write']],
  'a Deny added': [
    [READ, WRITE],
    [READ, WRITE, "deny: mcp.tool.name == 'write'"],
    ['refused files_write', 'refused search_write'],
  ],
  'two Allows swapped': [[READ, WRITE], [WRITE, READ], []],
  '|| written as in': [
    ["allow: mcp.tool.name == 'a' || mcp.tool.name == 'b'"],
    ["allow: mcp.tool.name in ['a', 'b']"],
    [],
  ],
  'one Allow for two': [
    ["allow: mcp.tool.name == 'a'", "allow: mcp.tool.name == 'b'"],
    ["allow: mcp.tool.name == 'a' || mcp.tool.name == 'b'"],
    [],
  ],
  'an Allow added': [[READ], [READ, WRITE], ['admitted files_write', 'admitted search_write']],
  'arguments narrowed': [
    [READ],
    ["allow: mcp.tool.name == 'read' && mcp.tool.arguments.path.startsWith('/srv')"],
    ['refused files_read', 'refused search_read'],
  ],
  'one server': [
    [READ],
    ["allow: mcp.tool.name == 'read' && mcp.tool.target == 'files'"],
    ['refused search_read'],
  ],
  'a Require added': [
    [READ],
    [READ, `require: ${ANN}`],
    ['refused files_read', 'refused search_read', 'refused ping'],
  ],
  'a first Allow': [
    [],
    [`allow: ${ANN}`],
    [
      'refused files_any',
      'refused files+any',
      'refused search_any',
      'refused search+any',
      'refused ping',
    ],
  ],
  'a Deny of a method': [
    [READ],
    [READ, "deny: mcp.methodName == 'tasks/list'"],
    ['refused tasks/list'],
  ],
}

describe('portcullis diff of rules for MCP messages', () => {
  it('shows no method that the gateway does not know: several servers serve none', async () => {
    const { calls, untold } = await diffed(file([READ]), file([READ, "allow: '!has(mcp.tool)'"]))
    assert.deepEqual(untold, [])
    assert.ok(!calls.includes('admitted unknown'), String(calls))
  })

  for (const [what, [old, now, calls]] of Object.entries(EDITS)) {
    it(`${what}: analyzed in both directions`, async () => {
      const found = await diffed(file(old), file(now))
      assert.deepEqual(found.untold, [])
      assert.deepEqual([...new Set(found.calls)].toSorted(), calls.toSorted())
      const isAdmitting = calls.some((call) => call.startsWith('admitted'))
      assert.equal(found.code, isAdmitting ? 1 : 0)
      const back = await diffed(file(now), file(old))
      assert.deepEqual(back.untold, [])
      const opposite = calls.map((one) =>
        one.startsWith('refused')
          ? one.replace('refused', 'admitted')
          : one.replace('admitted', 'refused'),
      )
      assert.deepEqual([...new Set(back.calls)].toSorted(), opposite.toSorted())
    })
  }

  it('rules of one server', async () => {
    const found = await diffed(file([], [READ, WRITE]), file([], [READ]))
    assert.deepEqual(found, { code: 0, calls: ['refused files_write'], untold: [] })
  })

  it('arguments that are no object are not set, whichever of the files reads them', async () => {
    const reads = file(['allow: "!has(mcp.tool.arguments)"'])
    const denies = file([`deny: mcp.methodName == 'tools/call'`])
    const { calls, untold } = await diffed(reads, denies)
    assert.deepEqual(untold, [])
    assert.deepEqual(calls.filter((call) => /^refused .*_/.test(call)).toSorted(), [
      'refused files_any',
      'refused search_any',
    ])
  })

  it('a rule that no call satisfies may still show tools', async () => {
    const never = "allow: mcp.tool.arguments.x == 'a' && mcp.tool.arguments.x == 'b'"
    const { code, calls, untold } = await diffed(file([READ]), file([READ, never]))
    assert.deepEqual([code, calls], [1, []])
    assert.ok(untold.length > 0)
    assert.ok(untold.every((why) => /lists of tools of `(files|search)` may change/.test(why)))
  })

  it('knows all methods', () => {
    const parts = new Set(Object.values(PART_METHODS).flat())
    const lists = new Set(Object.values(LIST_METHODS).flat())
    for (const name of parts) assert.equal(methodOf(name)?.kind, 'part')
    for (const [name, { part }] of listMethods()) {
      if (part !== 'task') assert.ok(lists.delete(name), name)
    }
    assert.deepEqual([...lists], [])
    // Rules do not distinguish these by what they name.
    const known = GENERAL_METHODS.filter((name) => !name.startsWith('session/'))
    for (const name of known) assert.notEqual(methodOf(name), undefined, name)
    for (const name of known) assert.ok(!parts.has(name), name)
  })
})

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { DecisionRecord } from '../telemetry/decision-record.ts'
import { recordedWhile } from './fixtures/recording-gateway.ts'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'replay-mcp-'))
after(() => rmSync(FOLDER, { recursive: true }))

const config = (...rules: readonly string[]) => `gateways: { default: { port: 8080 } }
mcp:
  targets:
  - { name: files, mcp: { host: 'files:80' } }
  - { name: search, mcp: { host: 'search:80' } }
  policies:
    mcpAuthorization:
      rules:
${rules.map((rule) => `      - ${rule}\n`).join('')}`

const OLD = config("allow: mcp.tool.name == 'read'", "deny: mcp.tool.target == 'search'")

function file(name: string, text: string): string {
  const path = join(FOLDER, name)
  writeFileSync(path, text)
  return path
}

interface Said {
  readonly requests: number
  readonly unchanged: number
  readonly disagreeing: number
  readonly changed: readonly { readonly kind: string; readonly reason: string }[]
  readonly unknown: readonly { readonly why: string; readonly requests: number }[]
}

describe('portcullis replay of messages to MCP servers', () => {
  let records: readonly DecisionRecord[] = []

  before(async () => {
    records = await recordedWhile(OLD, [], async (origin) => {
      for (const name of ['files_read', 'files_write', 'search_read']) {
        const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } }
        const response = await fetch(`${origin}/mcp`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', connection: 'close' },
          body: JSON.stringify(message),
        })
        await response.text()
      }
    })
  })

  async function replay(now: string): Promise<Said> {
    const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('')
    const { out, err } = await runWith([
      ...['replay', '--decisions', file('decisions.jsonl', lines), '--json'],
      ...['--old', file('old.yaml', OLD), '--new', file('new.yaml', now)],
    ])
    assert.equal(err, '')
    return JSON.parse(out) as Said
  }

  const changes = ({ changed }: Said) => changed.map(({ kind, reason }) => `${kind}: ${reason}`)

  it('decides the same with the same rules', async () => {
    const said = await replay(OLD)
    assert.deepEqual([said.requests, said.unchanged, said.disagreeing], [3, 3, 0])
  })

  it('reports calls that would be admitted', async () => {
    const said = await replay(OLD.replace("'read'", "'read' || mcp.tool.name == 'write'"))
    assert.deepEqual(changes(said), ['admitted: no Allow rule matches'])
    assert.deepEqual([said.unchanged, said.disagreeing], [2, 0])
  })

  it('reports calls that would be denied', async () => {
    const said = await replay(OLD.replace("'search'", "'files'"))
    assert.deepEqual(
      said.changed.map(({ kind }) => kind),
      ['admitted', 'refused'],
    )
    assert.match(said.changed[1]?.reason ?? '', /^Deny `mcp\.tool\.target == 'files'`/)
  })

  it('reports not known if the record lacks a value', async () => {
    const said = await replay(OLD.replace("'read'", "'read' && mcp.tool.arguments.path == '/srv'"))
    assert.deepEqual(changes(said), [])
    const [unknown] = said.unknown
    assert.match(unknown?.why ?? '', /mcp\.tool\.arguments\.path/)
    assert.equal(unknown?.requests, 1)
  })

  // The remaining server gets unprefixed names, and may have a tool with the name that was sent.
  it('reports not known if the servers differ', async () => {
    const said = await replay(OLD.replace(/ {2}- \{ name: files.*\n/, ''))
    assert.deepEqual([said.unchanged, said.changed.length], [0, 0])
    assert.match(said.unknown[0]?.why ?? '', /`mcp`/)
  })
})

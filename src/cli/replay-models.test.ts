import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { DecisionRecord } from '../telemetry/decision-record.ts'
import { recordedWhile } from './fixtures/recording-gateway.ts'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'replay-models-'))
after(() => rmSync(FOLDER, { recursive: true }))

const config = (rule: string) => `gateways: { default: { port: 8080 } }
llm:
  policies:
    apiKey:
      keys:
      - { key: sk-1234567890-eng, metadata: { team: eng } }
      - { key: sk-1234567890-ops, metadata: { team: ops } }
  models:
  - { name: fast, provider: openAI, params: { apiKey: x, hostOverride: '127.0.0.1:1' } }
  - name: smart
    provider: openAI
    params: { apiKey: x, hostOverride: '127.0.0.1:1' }
    authorization: { rules: [{ require: "${rule}" }] }
`
const OLD = config("apiKey.team == 'eng'")

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

describe('portcullis replay of calls to models', () => {
  let records: readonly DecisionRecord[] = []

  before(async () => {
    records = await recordedWhile(OLD, [], async (origin) => {
      for (const [team, model] of [
        ['eng', 'smart'],
        ['ops', 'smart'],
        ['ops', 'fast'],
      ]) {
        const response = await fetch(`${origin}/v1/chat/completions`, {
          method: 'POST',
          headers: {
            connection: 'close',
            'content-type': 'application/json',
            authorization: `Bearer sk-1234567890-${team}`,
          },
          body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
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

  it('reports no changes for the same configuration', async () => {
    const { requests, unchanged, changed, disagreeing } = await replay(OLD)
    assert.deepEqual(
      { unchanged, changed, disagreeing },
      { unchanged: requests, changed: [], disagreeing: 0 },
    )
  })

  it('decides a call by the rules of its own model, whatever other models admit', async () => {
    const denied = await replay(config('false'))
    assert.deepEqual(
      denied.changed.map(({ kind }) => kind),
      ['refused'],
    )
    assert.equal(denied.disagreeing, 0)
    // The caller is not in the record.
    const other = await replay(config("apiKey.team == 'ops'"))
    assert.deepEqual(other.changed, [])
    assert.deepEqual(
      other.unknown.map(({ requests }) => requests),
      [2],
    )
    assert.match(other.unknown[0]?.why ?? '', /apiKey\.team/)
    const open = await replay(config('true'))
    assert.deepEqual(
      open.changed.map(({ kind }) => kind),
      ['admitted'],
    )
  })

  it('reports not known for the later targets of a virtual model', async () => {
    const routing =
      'routing: { failover: { targets: [{ model: smart, priority: 0 }, { model: fast, priority: 1 }] } }'
    const text = `${config('false')}  virtualModels: [{ name: auto, ${routing} }]\n`
    const { changed, unknown } = await replay(text)
    assert.deepEqual(changed, [])
    assert.equal(
      unknown.reduce((sum, { requests }) => sum + requests, 0),
      2,
    )
  })
})

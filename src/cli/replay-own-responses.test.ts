import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { recordOf } from '../telemetry/fixtures/decision-records.ts'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'replay-own-'))
after(() => rmSync(FOLDER, { recursive: true }))

function file(name: string, text: string): string {
  const path = join(FOLDER, name)
  writeFileSync(path, text)
  return path
}

/** A route that responds to some requests itself, based on a header that no record shows. */
const responding = (hostnames: string) => `gateways:
  default: { port: 8080 }
routes:
  - name: api
    ${hostnames}
    policies:
      authorization: { rules: [{ allow: "request.path.startsWith('/x')" }] }
      directResponse: { conditional: [{ condition: "'x-b' in request.headers", status: 503 }] }
    backends: [{ host: 'a:80' }]
`

describe('portcullis replay with possible local responses', () => {
  const record = recordOf({
    ...{ gateway: 'default', listener: 'default', route: 'api', verdict: 'allowed' },
    ...{ method: 'GET', host: 'a.example', path: '/x', status: 503 },
  })

  for (const [what, now, counts] of [
    ['is not known where it changes', 'hostnames: [b.example]', '0 unchanged, 1 not known'],
    ['is unchanged where nothing changes', '', '1 unchanged, 0 not known'],
  ] as const) {
    it(what, async () => {
      const { out } = await runWith([
        'replay',
        ...['--decisions', file('decisions.jsonl', `${JSON.stringify(record)}\n`)],
        ...['--old', file('old.yaml', responding('')), '--new', file('new.yaml', responding(now))],
      ])
      assert.ok(out.includes(`0 newly admitted, 0 newly denied, ${counts}`), out)
    })
  }

  it('distinguishes requests that nothing serves from those without a route', async () => {
    const unserved = `gateways: { default: { port: 8080 } }
routes:
- name: api
  matches: [{ query: [{ name: q, value: { exact: '1' } }] }]
  policies: { authorization: { rules: [{ require: "request.headers['x-a'] == '2'" }] } }
`
    const lost = recordOf({
      ...{ gateway: 'default', listener: 'default', route: 'api', verdict: 'allowed' },
      ...{ method: 'GET', host: 'a.example', path: '/', status: 500, cause: 'no-rules' },
      identified: [],
      attributes: [{ name: "request.headers['x-a']", state: 'redacted' }],
    })
    const path = file('unserved.yaml', unserved)
    const decisions = file('lost.jsonl', `${JSON.stringify(lost)}\n`)
    const args = ['--decisions', decisions, '--old', path, '--new', path, '--fail-on-change']
    const { out, code } = await runWith(['replay', ...args])
    assert.match(out, /0 newly admitted, 0 newly denied, 1 unchanged/)
    assert.equal(code, 0)
  })
})

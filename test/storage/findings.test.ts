import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { until } from '../cli/running.ts'
import { type StoredGateway, startGateway } from './gateways.ts'
import { SKIPPED, type TestServer } from './postgres.ts'
import { sharedServer } from './shared-server.ts'

/**
 * Two warnings from the reader only, one that lint reports, too, and one that a comment suppresses
 * in lint.
 */
const ROUTES = `- name: empty
  matches: [{ path: { exact: /empty } }]
  policies:
- name: wide
  matches: [{ path: { exact: /wide } }]
  policies:
    directResponse: { status: 200 }
    authorization:
      rules:
      - allow: 'true'
- name: known
  matches: [{ path: { exact: /known } }]
  policies:
    directResponse: { status: 200 }
    authorization:
      rules:
      # lint: AZ010 everybody may
      - allow: 'true'
`
const IN_FILE = ["AZ010 - allow: 'true'", 'PC0225 policies:', 'PC0315 - name: empty']
const SAID_OF_FILE = [
  "PC0110 - allow: 'true'",
  // The reader reports it despite the comment.
  "PC0110 - allow: 'true'",
  'PC0225 policies:',
  'PC0315 - name: empty',
]
const LINTED = {
  name: 'linted',
  matches: [{ path: { exact: '/linted' } }],
  policies: { authorization: { rules: [{ allow: 'true' }] }, directResponse: { status: 200 } },
}

interface Found {
  readonly code: string
  readonly message: string
  readonly origin: Readonly<Record<string, string | number>>
}

describe('findings in a file with stored changes', { skip: SKIPPED }, () => {
  let server: TestServer
  let gateway: StoredGateway

  before(async () => {
    server = await sharedServer()
    gateway = await startGateway(await server.database(), { routes: ROUTES })
  })

  after(async () => {
    await gateway?.remove()
  })

  const read = async (path: string, member: string) =>
    ((await gateway.api('GET', path)).json[member] ?? []) as readonly Found[]
  const placeOf = ({ code, origin }: Found) => {
    if (origin['kind'] === 'object') return `${code} ${origin['object']} ${origin['field']}`
    assert.equal(origin['file'], gateway.file)
    const line = readFileSync(gateway.file, 'utf8').split('\n')[Number(origin['line']) - 1]
    return `${code} ${line?.trim()}`
  }
  const places = async () => {
    // Until the configuration is linted, the findings are those of the one before.
    await until(
      'it is linted',
      async () => (await gateway.api('GET', '/lint')).json['isComplete'] === true,
    )
    return (await read('/lint', 'findings')).map(placeOf).toSorted()
  }
  const said = async () => (await read('/diagnostics', 'diagnostics')).map(placeOf).toSorted()

  it('name lines of the file while no edits are stored, each once', async () => {
    assert.deepEqual(await places(), IN_FILE)
    assert.deepEqual(await said(), SAID_OF_FILE)
  })

  it('name lines of the file, and fields of stored resources', async () => {
    const stored = await gateway.api('PUT', '/config/resources/routes/linted', LINTED)
    assert.equal(stored.status, 200, stored.text)
    await until('it is served', async () => (await gateway.get('/linted')) === 200)
    const field = 'database routes/linted policies.authorization.rules[0].allow'
    assert.deepEqual(await places(), [...IN_FILE, `AZ010 ${field}`].toSorted())
    assert.deepEqual(await said(), [...SAID_OF_FILE, `PC0110 ${field}`].toSorted())
  })

  it('name the same place as the reader does', async () => {
    const keyOf = ({ message, origin }: Found) => JSON.stringify([message, origin])
    const readerSaid = new Set((await read('/diagnostics', 'diagnostics')).map(keyOf))
    for (const one of await read('/lint', 'findings'))
      assert.ok(readerSaid.has(keyOf(one)), keyOf(one))
  })
})

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { ExplainQuery, ExplainReply } from '../admin/api/deps.ts'
import type { Model } from '../model/model.ts'
import { Configuration } from '../sources/database/configuration.ts'
import { SecretReferences } from '../sources/database/secrets.ts'
import { loadFile } from '../sources/file/load.ts'
import { recordOf } from '../telemetry/fixtures/decision-records.ts'
import type { Explained } from './explanation.ts'
import { runWith } from './fixtures/run.ts'
import { Explanations } from './served-explanations.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
after(() => rmSync(folder, { recursive: true }))
const file = join(folder, 'gateway.yaml')
const RULES = 3_000

const many = Array.from({ length: RULES }, (_, i) => `      - allow: request.path == '/x/${i}'`)
writeFileSync(
  file,
  `gateways: { default: { port: 8080 } }
routes:
- name: api
  matches: [{ path: { pathPrefix: /api } }]
  policies:
    apiKey: { mode: Optional, keys: [{ key: some-key-of-api, metadata: { team: a } }] }
    authorization:
      rules:
      - deny: "request.path == '/api/admin'"
      - allow: "request.headers['x-team'] == 'a' || apiKey.team == 'a'"
  backends: [{ host: '127.0.0.1:9001' }]
- name: many
  matches: [{ path: { pathPrefix: /x } }]
  policies:
    authorization:
      rules:
${many.join('\n')}
  backends: [{ host: '127.0.0.1:9001' }]
`,
)

interface Opened {
  readonly explanations: Explanations
  readonly setModel: (model: Model | undefined) => void
}

function open(maxWork?: number): Opened {
  const { result, settings, places } = loadFile(file, { environment: {} })
  let model = result.value
  const explanations = new Explanations({
    status: () => ({ model, settings: settings as NonNullable<typeof settings> }),
    places: () => places,
    configuration: new Configuration({
      file,
      environment: {},
      references: new SecretReferences(),
      validate: async () => [],
    }),
    now: () => performance.now(),
    ...(maxWork === undefined ? {} : { maxWork }),
  })
  return {
    explanations,
    setModel: (next) => {
      model = next
    },
  }
}

const query = (
  request: string,
  header: readonly string[] = [],
  changes: Extract<ExplainQuery, { readonly changes: unknown }>['changes'] = [],
): ExplainQuery => ({ changes, options: { request, header } })

function reportIn(reply: ExplainReply): Explained {
  assert.ok(reply !== 'busy' && 'report' in reply, JSON.stringify(reply))
  return reply.report as Explained
}

function problemIn(reply: ExplainReply): string {
  assert.ok(reply !== 'busy' && 'problem' in reply, JSON.stringify(reply))
  return `${reply.status} ${reply.problem}`
}

describe('explanations in the process of the gateway', () => {
  for (const [request, ...header] of [
    ['GET /api/admin'],
    ['GET /api/1', 'x-team: a'],
    ['GET /api/1'],
    ['GET /elsewhere'],
    ['GET /api/a%2Fb'],
  ] as const) {
    it(`are those of the command: ${request} ${header.join()}`, async () => {
      const { explanations } = open()
      const report = reportIn(await explanations.explain(query(request, header)))
      const args = ['explain', file, '--json', '--request', request]
      const { out } = await runWith([...args, ...header.flatMap((one) => ['--header', one])])
      assert.deepEqual(JSON.parse(JSON.stringify(report)), JSON.parse(out))
    })
  }

  it('leave time for other work between rules, and show the rule that decides', async () => {
    const { explanations } = open()
    let turns = 0
    let isOver = false
    const turn = () => {
      turns++
      if (!isOver) setImmediate(turn)
    }
    setImmediate(turn)
    const report = reportIn(await explanations.explain(query(`GET /x/${RULES - 1}`)))
    isOver = true
    assert.ok(turns > 5, `${turns} turns of the event loop`)
    const { rules = [], deciding = -1 } = report.stages.find((one) => one.stage === 'traffic') ?? {}
    assert.equal(rules.length, 1_001)
    assert.equal(rules[deciding]?.expression, `request.path == '/x/${RULES - 1}'`)
    assert.deepEqual(report.notes, [`traffic: ${RULES - 1_001} more rules are not shown`])
  })

  it('end with a message if they take too long', async () => {
    const { explanations } = open(0.001)
    assert.match(problemIn(await explanations.explain(query('GET /api'))), /^422 .* too long/)
  })

  it('are given one at a time, and nine may wait', async () => {
    const { explanations } = open()
    const order: number[] = []
    const replies = Array.from({ length: 9 }, async (_, i) => {
      reportIn(await explanations.explain(query(`GET /api/${i}`)))
      order.push(i)
    })
    assert.equal(await explanations.explain(query('GET /api')), 'busy')
    await Promise.all(replies)
    assert.deepEqual(order, [0, 1, 2, 3, 4, 5, 6, 7, 8])
    reportIn(await explanations.explain(query('GET /api')))
  })

  it('are of the configuration that is served, and of proposed changes', async () => {
    const { explanations, setModel } = open()
    const value = {
      name: 'api',
      policies: { authorization: { rules: [{ deny: "request.path == '/api/1'" }] } },
      backends: [{ host: '127.0.0.1:9001' }],
    }
    const changes = [{ action: 'set', kind: 'routes', id: 'api', value }] as const
    const outcome = async (sent: ExplainQuery) => {
      return reportIn(await explanations.explain(sent)).outcome
    }
    const header = ['x-team: a']
    assert.equal(await outcome(query('GET /api/1', header)), 'forwarded')
    assert.equal(await outcome(query('GET /api/1', header, changes)), 'denied')
    const invalid = [{ ...changes[0], value: { ...value, policies: { cors: 1 } } }]
    assert.match(problemIn(await explanations.explain(query('GET /', [], invalid))), /^422 .*cors/s)
    const unknown = [{ action: 'delete', kind: 'routes', id: 'none' }] as const
    const reply = await explanations.explain(query('GET /', [], unknown))
    assert.ok(reply !== 'busy' && 'failure' in reply && reply.failure.why === 'not-found')
    setModel({ gateways: [], routes: [], tcpRoutes: [], backends: [], frontend: [] })
    assert.match(problemIn(await explanations.explain(query('GET /'))), /^422 no listener/)
    setModel(undefined)
    assert.match(problemIn(await explanations.explain(query('GET /'))), /^503 /)
  })

  it('say what is wrong with a request', async () => {
    const { explanations } = open()
    assert.match(problemIn(await explanations.explain(query('nonsense'))), /^422 'nonsense' is not/)
    const odd = { changes: [], options: { request: 'GET /', header: [], claims: '[]' } }
    assert.match(problemIn(await explanations.explain(odd)), /^422 --claims must be a JSON object/)
  })

  it('of a record are those of the command, and say what the record does not show', async () => {
    const { explanations } = open()
    const record = recordOf({
      ...{ method: 'GET', path: '/api/1', host: 'localhost', gateway: 'default' },
      listener: 'default',
      attributes: [{ name: "request.headers['x-team']", state: 'redacted' }],
    })
    const report = reportIn(await explanations.explain({ record }))
    assert.equal(report.outcome, 'denied')
    assert.match(report.notes[0] ?? '', /^not in the record: request.headers\['x-team'\]/)
    const csrf = { record: { ...record, kind: 'csrf' } } as const
    assert.match(problemIn(await explanations.explain(csrf)), /^422 `csrf` rejected/)
  })
})

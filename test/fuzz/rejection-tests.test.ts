import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import type { Case, Suite } from '../../src/cli/suite/format.ts'
import { parseSuite } from '../../src/cli/suite/read.ts'
import { runSuite } from '../../src/cli/suite/run-suite.ts'
import type { Decision } from '../../ui/src/api/shapes.ts'
import { testFileOf } from '../../ui/src/decisions/test-file.ts'
import { type Rejecting, sendRaw, startRejecting, type ValidFile } from '../decisions/rejecting.ts'
import { type Drawn, drawn, textOf } from './rejected-requests.ts'
import { fuzz } from './runs.ts'

/** Requests that are sent at once: some responses come late. */
const AT_ONCE = 100

/** A test that was created from the records of a rejection. */
interface Created {
  readonly decision: Decision
  readonly request: Case
}

describe('tests that are created from rejections', () => {
  let gateway: Rejecting
  let folder: string
  const created = new Map<string, Created>()
  let suite: Suite

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
    gateway = await startRejecting()
    const { numRuns, seed } = fuzz(0.5, 200)
    const requests = fc.sample(drawn, { numRuns, seed })
    for (let start = 0; start < requests.length; start += AT_ONCE) {
      await Promise.all(requests.slice(start, start + AT_ONCE).map(create))
    }
  })

  async function create(drawnRequest: Drawn): Promise<void> {
    const bytes = textOf(drawnRequest)
    const response = await sendRaw(gateway.ports[drawnRequest.to], bytes, 1_000)
    const [, id] = /^x-request-id: (.+)\r$/im.exec(response) ?? []
    const decisions = id === undefined ? [] : (gateway.own.decisions({ id }) as readonly Decision[])
    const text = testFileOf(decisions)
    const [decision] = decisions
    // What the record withholds, the user has to set.
    if (text === undefined || decision === undefined || /: set it$/m.test(text)) return
    // Routes with mistakes are not in the file that is tested.
    if (decision.cause.startsWith('invalid-')) return
    const { value, diagnostics } = parseSuite(text, 'decision.test.yaml')
    assert.deepEqual(diagnostics, [], text)
    const [request] = value?.requests ?? []
    assert.ok(value !== undefined && request !== undefined, text)
    suite ??= value
    created.set(JSON.stringify({ ...request, name: '' }), { decision, request })
  }

  after(async () => {
    await gateway.close()
    rmSync(folder, { recursive: true })
  })

  async function failuresWith(config: ValidFile): Promise<ReadonlyMap<Created, readonly string[]>> {
    writeFileSync(join(folder, 'gateway.yaml'), JSON.stringify(config))
    const all = [...created.values()]
    const requests = all.map(({ request }) => request)
    const file = join(folder, 'decision.test.yaml')
    const result = await runSuite({ ...suite, requests }, file, { environment: {} })
    const errors = result.diagnostics.filter(({ severity }) => severity === 'error')
    assert.deepEqual(
      errors.map(({ message }) => message),
      [],
    )
    return new Map(result.cases.map(({ failures }, index) => [all[index] as Created, failures]))
  }

  it('pass on the configuration that rejected', async () => {
    const failures = await failuresWith(gateway.valid)
    for (const [{ decision, request }, messages] of failures) {
      assert.deepEqual(messages, [], JSON.stringify({ decision, request }, undefined, 1))
    }
    assert.ok(failures.size >= 5, `${failures.size} tests`)
  })

  it('fail on the same configuration without policies, if one rejected', async () => {
    const failures = await failuresWith(withoutPolicies(gateway.valid))
    const ofPolicies = [...failures].filter(([{ decision }]) => !WITHOUT_POLICY.has(decision.cause))
    for (const [{ decision, request }, messages] of ofPolicies) {
      assert.notDeepEqual(messages, [], JSON.stringify({ decision, request }, undefined, 1))
    }
    assert.ok(ofPolicies.length >= 3, `${ofPolicies.length} tests`)
  })
})

/** Causes that are no policy. */
const WITHOUT_POLICY: ReadonlySet<string> = new Set(['no-route', 'no-backend'])

/** With the same routes and backends; a route that needs none for its policy gets another's. */
function withoutPolicies({ routes, backends, llm, ...rest }: ValidFile): ValidFile {
  const [first] = routes
  return {
    ...rest,
    routes: routes.map((route) => ({
      ...route,
      policies: {},
      backends: (route.backends.length > 0 ? route : (first ?? route)).backends.map(bare),
    })),
    backends: backends.map(bare),
    llm: {
      ...llm,
      policies: {},
      models: llm.models.map(({ authorization: _, ...model }) => model),
    },
  }
}

const bare = ({ policies: _, ...backend }: ValidFile['backends'][number]) => backend

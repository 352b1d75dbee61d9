import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { Model } from '../model/model.ts'
import { bindSecret } from '../model/secret.ts'
import type { Settings } from '../model/settings.ts'
import { createLogger } from '../telemetry/log.ts'
import { Workers } from './workers.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-workers-'))
after(() => rmSync(folder, { recursive: true }))

/** A worker that serves nothing, and says what it was sent. */
const ENTRY = join(folder, 'worker.mjs')
writeFileSync(
  ENTRY,
  `process.on('message', (order) => {
  if (order.kind === 'drain') return process.disconnect()
  const things = order.patch.lists.flatMap(([, list]) => list.flatMap(({ things = [] }) => things))
  const message = JSON.stringify({ names: things.map(({ name }) => name), secrets: [...order.secrets] })
  const applied = { isApplied: !message.includes('refused'), diagnostics: [{ message }] }
  process.send({ kind: 'applied', id: order.id, applied, quotas: [] })
})`,
)

describe('Workers', () => {
  it('are sent what changed, whatever else there is and whatever became of the change before', async () => {
    const log = createLogger({ format: 'text', level: 'off', write: () => {} })
    const workers = new Workers([ENTRY], { modelCatalog: [] } as unknown as Settings, 2, log)
    // A worker is a process like any other, not one of the test runner.
    const options = process.execArgv.splice(0)
    const route = (name: string) => ({ name }) as never
    const many = Array.from({ length: 1_000 }, (_, n) => route(`r${n}`))
    const all: Model = { gateways: [], routes: many, tcpRoutes: [], backends: [], frontend: [] }
    const apply = async (routes: readonly never[]) => {
      const { isApplied, diagnostics } = await workers.apply({ ...all, routes })
      const { names, secrets } = JSON.parse(diagnostics[0]?.message ?? '')
      return { isApplied, names, secrets }
    }
    try {
      assert.equal((await apply(many)).names.length, 1_000)
      const edited = many.with(500, route('edited'))
      assert.deepEqual((await apply(edited)).names, ['edited'])
      const bad = edited.with(3, route('refused'))
      assert.deepEqual(await apply(bad), { isApplied: false, names: ['refused'], secrets: [] })
      const key = bindSecret({ secretRef: 'Secret a/b', version: 'v1' }, 'text')
      const fixed = edited.with(3, { name: 'good', key } as never)
      assert.deepEqual(await apply(fixed), {
        isApplied: true,
        names: ['good'],
        secrets: [['v1', 'text']],
      })
      assert.deepEqual(await apply(fixed.slice(1)), { isApplied: true, names: [], secrets: [] })
    } finally {
      process.execArgv.push(...options)
      await workers.drain()
    }
  })
})

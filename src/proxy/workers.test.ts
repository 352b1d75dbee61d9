import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { Model } from '../model/model.ts'
import { bindSecret } from '../model/secret.ts'
import type { Settings } from '../model/settings.ts'
import { createLogger } from '../telemetry/log.ts'
import { Workers } from './workers.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-workers-'))
after(() => rmSync(folder, { recursive: true }))

/** A worker that serves nothing, and reports what it was sent. */
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

/** Exits on a route called `exits`, and on one called `exits once` if no worker did before. */
const MORTAL = join(folder, 'mortal.mjs')
writeFileSync(
  MORTAL,
  `import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
const mark = join(import.meta.dirname, 'exited')
process.on('message', (order) => {
  if (order.kind === 'drain') return process.disconnect()
  const names = order.patch.lists.flatMap(([, list]) =>
    list.flatMap(({ things = [] }) => things.map(({ name }) => name)))
  if (names.includes('exits')) process.exit(1)
  if (names.includes('exits once') && !existsSync(mark)) {
    writeFileSync(mark, '')
    process.exit(1)
  }
  process.send({ kind: 'applied', id: order.id, applied: { isApplied: true, diagnostics: [] }, quotas: [] })
})`,
)

/**
 * The first one applies the route `slow` once the file `go` exists; the others write what they
 * have.
 */
const SLOW = join(folder, 'slow.mjs')
writeFileSync(
  SLOW,
  `import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
const own = process.env.PORTCULLIS_WORKER
let all = []
process.on('message', (order) => {
  if (order.kind === 'drain') return process.disconnect()
  const things = order.patch.lists.flatMap(([, list]) => list.flatMap(({ things = [] }) => things))
  all = all.concat(things.map(({ name }) => name))
  const respond = () => {
    if (own === '0' && all.includes('slow') && !existsSync(join(import.meta.dirname, 'go'))) {
      return setTimeout(respond, 5)
    }
    writeFileSync(join(import.meta.dirname, own), JSON.stringify({ pid: process.pid, all }))
    process.send({ kind: 'applied', id: order.id, applied: { isApplied: true, diagnostics: [] }, quotas: [] })
  }
  respond()
})`,
)

function begin(entry: string, count: number) {
  const log = createLogger({ format: 'text', level: 'off', write: () => {} })
  const workers = new Workers([entry], { modelCatalog: [] } as unknown as Settings, count, log)
  // A worker is an ordinary process, not one of the test runner.
  const options = process.execArgv.splice(0)
  const end = async () => {
    process.execArgv.push(...options)
    await workers.drain()
  }
  return { workers, end }
}

const EMPTY: Model = { gateways: [], routes: [], tcpRoutes: [], backends: [], frontend: [] }
const withRoute = (name: string): Model => ({ ...EMPTY, routes: [{ name }] as never })

describe('Workers', () => {
  it('that exit while they apply a change do not reject it', async () => {
    const { workers, end } = begin(MORTAL, 1)
    try {
      assert.equal((await workers.apply(withRoute('old'))).isApplied, true)
      assert.equal((await workers.apply(withRoute('exits once'))).isApplied, true)
      assert.equal(workers.serving, 1)
      const said = { message: '3 workers exited while they applied the change' }
      await assert.rejects(workers.apply(withRoute('exits')), said)
      assert.equal((await workers.apply(withRoute('good'))).isApplied, true)
    } finally {
      await end()
    }
  })

  it('that exit while another one applies a change are replaced by ones with the change', async () => {
    const { workers, end } = begin(SLOW, 2)
    const second = (): { pid: number; all: string[] } =>
      JSON.parse(readFileSync(join(folder, '1'), 'utf8'))
    const until = async (test: () => boolean) => {
      while (!test()) await wait(5)
    }
    try {
      await workers.apply(withRoute('old'))
      await until(() => existsSync(join(folder, '1')))
      const { pid } = second()
      const applied = workers.apply(withRoute('slow'))
      process.kill(pid, 'SIGKILL')
      await until(() => second().pid !== pid)
      writeFileSync(join(folder, 'go'), '')
      assert.equal((await applied).isApplied, true)
      assert.equal(workers.serving, 2)
      assert.equal(second().all.at(-1), 'slow')
    } finally {
      await end()
    }
  })

  it('receive only changes, whatever the size of the Model and the previous outcome', async () => {
    const { workers, end } = begin(ENTRY, 2)
    const route = (name: string) => ({ name }) as never
    const many = Array.from({ length: 1_000 }, (_, n) => route(`r${n}`))
    const apply = async (routes: readonly never[]) => {
      const { isApplied, diagnostics } = await workers.apply({ ...EMPTY, routes })
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
      await end()
    }
  })
})

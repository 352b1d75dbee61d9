import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { workerCount } from './worker-count.ts'

const MI = 1024 * 1024
const GI = 1024 * MI
/** The measured memory of an idle gateway: one process, or a parent with its workers. */
const idle = (count: number) => (count === 1 ? 60 : 42 + 54 * count) * MI

describe('workers: auto', () => {
  for (const [what, machine, requests, expected] of [
    ['a machine of its own', { cores: 16, limit: 0 }, {}, 16],
    ['one core', { cores: 1, limit: 0 }, {}, 1],
    ["the chart's default pod", { cores: 16, limit: 0 }, { cpu: '100', memory: `${128 * MI}` }, 1],
    ['memory alone', { cores: 16, limit: 0 }, { memory: `${192 * MI}` }, 2],
    ['more memory', { cores: 16, limit: 0 }, { memory: `${GI}` }, 14],
    ['half a gigabyte', { cores: 16, limit: 0 }, { memory: `${512 * MI}` }, 6],
    ['a CPU request', { cores: 16, limit: 0 }, { cpu: '2500' }, 3],
    ['fewer cores than were asked for', { cores: 2, limit: 0 }, { cpu: '8000' }, 2],
    ['a memory limit', { cores: 16, limit: 256 * MI }, {}, 3],
    ['a limit below the request', { cores: 16, limit: 192 * MI }, { memory: `${GI}` }, 2],
    ['a limit that fits nothing', { cores: 16, limit: 16 * MI }, {}, 1],
    ['a limit that is none', { cores: 4, limit: Number.MAX_SAFE_INTEGER }, {}, 4],
    ['requests of nothing', { cores: 4, limit: 0 }, { cpu: '0', memory: '0' }, 4],
    ['no numbers', { cores: 4, limit: 0 }, { cpu: '100m', memory: 'much' }, 4],
  ] as const) {
    it(`${what}: ${expected}`, () => {
      const { cpu, memory } = requests as { readonly cpu?: string; readonly memory?: string }
      const environment = { PORTCULLIS_CPU_REQUEST: cpu, PORTCULLIS_MEMORY_REQUEST: memory }
      assert.equal(workerCount('auto', { ...machine, environment }), expected)
    })
  }

  it('keeps an idle pod below 80% of any request that fits one process', () => {
    for (let memory = 80 * MI; memory < 4 * GI; memory += 7 * MI) {
      const environment = { PORTCULLIS_MEMORY_REQUEST: String(memory) }
      const count = workerCount('auto', { cores: 128, limit: 0, environment })
      assert.ok(idle(count) <= 0.8 * memory, `${count} workers in ${memory / MI} MiB`)
    }
  })

  it('accepts a number', () => {
    const environment = { PORTCULLIS_MEMORY_REQUEST: String(MI) }
    assert.equal(workerCount(7, { cores: 1, limit: MI, environment }), 7)
  })

  // The second gateway and the workers load what the first one compiled.
  const cache = mkdtempSync(join(tmpdir(), 'portcullis-compiled-'))
  after(() => rmSync(cache, { recursive: true }))
  for (const [request, expected] of [
    ['100', 1],
    ['64000', availableParallelism()],
  ] as const) {
    it(`a gateway that asked for ${request} thousandths of a core starts ${expected}`, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'portcullis-workers-'))
      const file = join(folder, 'config.json')
      const off = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off' }
      writeFileSync(file, JSON.stringify({ config: off, gateways: {} }))
      const entry = join(import.meta.dirname, '../../bin/portcullis.ts')
      const child = spawn(process.execPath, [entry, 'run', '-f', file], {
        env: {
          PATH: process.env['PATH'],
          PORTCULLIS_CPU_REQUEST: request,
          NODE_COMPILE_CACHE: cache,
        },
      })
      let log = ''
      for await (const chunk of child.stdout) {
        log += chunk
        if (log.includes('message=serving')) break
      }
      child.kill()
      await once(child, 'exit')
      rmSync(folder, { recursive: true })
      assert.match(log, new RegExp(`workers=${expected}\\b`))
    })
  }
})

import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { LOW_PRIORITY, openTools } from './tool-runs.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
after(() => rmSync(folder, { recursive: true }))
const released = join(folder, 'released')
const entry = join(folder, 'tool.mjs')
/** Prints its priority once it is released. */
writeFileSync(
  entry,
  `import { existsSync, watch } from 'node:fs'
import { getPriority } from 'node:os'
const done = () => { console.log(getPriority()); process.exit(0) }
if (existsSync(${JSON.stringify(released)})) done()
watch(${JSON.stringify(folder)}, () => { if (existsSync(${JSON.stringify(released)})) done() })
setInterval(() => { if (existsSync(${JSON.stringify(released)})) done() }, 50)
`,
)

describe('policy tools of the admin API', () => {
  it('run with low priority, some at a time, and are rejected if too many wait', async () => {
    const environment = { PATH: process.env['PATH'] }
    const run = openTools({ environment, entry })
    const analyses = Array.from({ length: 10 }, () => run('lint', [], {}))
    assert.equal(await run('diff', [], {}), 'busy')
    assert.ok(!existsSync(released))
    writeFileSync(released, '')
    const others = await Promise.all(analyses)
    const priorities = others.map((one) => (one === 'busy' ? 'busy' : Number(one.out)))
    const lowest =
      process.platform === 'win32' ? getPriority() : Math.max(getPriority(), LOW_PRIORITY)
    assert.deepEqual(new Set(priorities), new Set([lowest]))
  })
})

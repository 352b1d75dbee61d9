import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

const MODULE = import.meta.resolve('./startup-memory.ts')

/** Short-lived objects, many of which survive a collection, so that V8 enlarges the space. */
const CHURN = `
  import { getHeapSpaceStatistics } from 'node:v8'
  const kept = new Array(20_000)
  let largest = 0
  for (let turn = 0; turn < 600; turn++) {
    for (let n = 0; n < 2_000; n++) kept[(turn * 2_000 + n) % kept.length] = { n, of: [n, turn] }
    const spaces = getHeapSpaceStatistics()
    largest = Math.max(largest, spaces.find((each) => each.space_name === 'new_space').space_size)
    await new Promise(setImmediate)
  }
  console.log(largest / 1024 / 1024)
`

function largestYoungSpace(before: string): number {
  const file = `data:text/javascript,${encodeURIComponent(CHURN)}`
  const script = `import * as memory from ${JSON.stringify(MODULE)}; ${before}; await import(${JSON.stringify(file)})`
  return Number(run(script))
}

/** The V8 flags that are set while `work` runs. */
function flagsOf(work: string): Set<string> {
  const script = `
    import { syncBuiltinESMExports } from 'node:module'
    import v8 from 'node:v8'
    const { setFlagsFromString } = v8
    v8.setFlagsFromString = (flag) => {
      console.log(flag)
      setFlagsFromString(flag)
    }
    syncBuiltinESMExports()
    const memory = await import(${JSON.stringify(MODULE)})
    memory.optimizeForTraffic()
    const churn = async () => {
      for (let turn = 0; turn < 100; turn++) {
        Array.from({ length: 20_000 }, (_, n) => ({ n, of: [n] }))
        await new Promise(setImmediate)
      }
    }
    ${work}`
  return new Set(run(script).split('\n'))
}

function run(script: string): string {
  const { NODE_OPTIONS: _, ...env } = process.env
  // Passed on standard input: with Node arguments, the module does not change V8.
  const input = `import(${JSON.stringify(`data:text/javascript,${encodeURIComponent(script)}`)})`
  const { stdout, stderr } = spawnSync(process.execPath, [], { env, input, encoding: 'utf8' })
  assert.equal(stderr, '')
  return stdout
}

test('the young generation of a gateway stays small', () => {
  const largest = largestYoungSpace('memory.optimizeForTraffic()')
  assert.ok(largest > 0 && largest <= 13, `${largest} MB`)
})

test('V8 would let the young generation grow', () => {
  assert.ok(largestYoungSpace('memory.resumeOptimization()') > 20)
})

const KEEPS_CODE = '--memory-reducer-gc-count=0'

test('a busy gateway keeps its compiled code', () => {
  assert.ok(flagsOf('await churn()').has(KEEPS_CODE))
})

test('a gateway that only changes its configuration releases memory', () => {
  assert.ok(!flagsOf('await memory.withoutOptimization(churn)').has(KEEPS_CODE))
  assert.ok(!flagsOf('').has(KEEPS_CODE))
})
